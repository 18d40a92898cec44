"""A pool of small networks trained on the seen drawings, with their results on each concept of the drawings' levels."""
