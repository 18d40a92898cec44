"""Scores: what one is, and the tables made of many."""
