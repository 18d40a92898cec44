"""The page of a task study."""
