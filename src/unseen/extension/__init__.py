"""What users add: Python files that run with their consent, and modules that are found by their names."""
