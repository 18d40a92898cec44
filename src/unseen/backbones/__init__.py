"""Backbones: what turns images into features, and what each says of itself."""
