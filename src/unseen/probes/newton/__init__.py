"""Logistic regression to its optimum along a regularization path."""
