"""Analyses of a backbone image by image, as parts of the task study: saliency, inversion."""
