"""Studies: what to run, and how to read it."""
