"""Near-duplicates: test images that are also training images, as far as stored features show it."""
