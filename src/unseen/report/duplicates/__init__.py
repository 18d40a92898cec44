"""The page of near-duplicates."""
