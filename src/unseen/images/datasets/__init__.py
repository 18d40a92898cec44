"""The data sets of the task study: one file each, with its metadata and the code that reads its files."""
