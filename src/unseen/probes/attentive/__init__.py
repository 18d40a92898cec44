"""Attentive probes: learned queries pool the patches of an image, and a linear layer classifies the result."""
