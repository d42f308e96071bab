"""What the commands do; each is imported when it is asked for, so that `--help` answers at once."""
