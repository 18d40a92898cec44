"""The page across axes."""
