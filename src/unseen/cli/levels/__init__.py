"""`unseen levels`."""
