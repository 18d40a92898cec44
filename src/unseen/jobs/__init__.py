"""Jobs: frozen descriptions of work, named by their content, run once."""
