"""From an image file to the pixels that a backbone receives."""
