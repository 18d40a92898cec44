"""A user's own data sets for the task study: a folder with splits, or a TOML file that describes the data set."""
