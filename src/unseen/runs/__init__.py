"""Runs on disk: their records and results, how jobs are executed, and how runs are merged."""
