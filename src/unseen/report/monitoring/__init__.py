"""The page of a network in training: its scores against steps."""
