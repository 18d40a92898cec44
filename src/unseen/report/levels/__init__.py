"""Figures of concept levels."""
