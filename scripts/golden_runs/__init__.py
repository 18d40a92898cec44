"""Tiny runs of every kind of study, whose scores must not change when the code is rebuilt (`scripts/golden.py`)."""
