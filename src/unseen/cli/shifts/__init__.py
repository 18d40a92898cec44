"""`unseen shifts`."""
