"""What concepts are and how far apart: taxonomies as arrays, WordNet, similarity measures, concept levels."""
