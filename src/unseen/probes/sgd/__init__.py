"""Logistic regression by SGD for many hyper-parameter pairs at once."""
