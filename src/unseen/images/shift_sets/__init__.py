"""Test sets under shifts of distribution, and those they are shifts of."""
