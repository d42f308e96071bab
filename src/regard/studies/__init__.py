"""Claims put to the test: ours beside theirs, as a table and a figure."""
