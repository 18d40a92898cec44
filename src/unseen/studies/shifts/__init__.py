"""The study of robustness to shifts of distribution."""
