"""Analyses of single images in the task study: saliency and inversion."""
