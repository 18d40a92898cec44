"""Concepts and their distances: taxonomies as arrays, WordNet, similarity measures, concept levels."""
