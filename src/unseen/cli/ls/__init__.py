"""`unseen ls`."""
