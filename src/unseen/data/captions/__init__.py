"""Captions: reading them, matching class names, and drawing a labelled test set."""
