"""Training a whole network."""
