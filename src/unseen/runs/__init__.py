"""A run on disk: what it is of, its results, and several of them together."""
