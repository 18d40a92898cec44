"""Features of images: what they are, where they are kept, which files they are read from."""
