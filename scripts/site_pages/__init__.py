"""Pages of the site that are written by the code they describe."""
