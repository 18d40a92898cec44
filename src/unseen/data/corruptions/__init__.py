"""Corruptions of ImageNet-C, computed when images are read."""
