"""Emoji of the same concepts drawn by several hands: a small, real shift, and the pool of models trained on it."""
