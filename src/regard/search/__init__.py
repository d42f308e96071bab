"""One search over start, step and pick."""
