"""The page of a fit of effective robustness."""
