"""The study of robustness to distribution shifts."""
