"""Training of a whole network."""
