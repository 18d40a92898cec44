"""The study of concept generalization."""
