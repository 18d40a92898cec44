"""Retrieval: the ranks of relevant images by exact search, and what they are relevant for."""
