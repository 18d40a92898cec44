"""Results that travel: records of what a run measured, which others can read, check and set beside published ones."""
