"""The page of a concept study."""
