"""The data sets of the task study: a small file each, with what is known of it and how its files are read."""
