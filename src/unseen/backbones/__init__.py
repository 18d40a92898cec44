"""Backbones: networks that turn images into features, and their specifications."""
