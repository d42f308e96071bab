"""One file per system; what they share is in blocks."""
