"""Models in the forms of other engines, and those of other toolkits as runs: written whole, and checked."""
