"""Things that this package adds to unseen; importing it alone imports nothing else."""
