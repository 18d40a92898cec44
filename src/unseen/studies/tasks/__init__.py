"""The study of transfer to other tasks."""
