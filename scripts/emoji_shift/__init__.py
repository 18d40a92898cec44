"""A shift between emoji, icons and drawings of the same concepts, and the pool of small networks trained on it."""
