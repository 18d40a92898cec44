"""Metrics: pure functions of predictions and labels."""
