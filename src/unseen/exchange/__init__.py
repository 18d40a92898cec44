"""Results files: records of measured scores that others can read, check and compare with published ones."""
