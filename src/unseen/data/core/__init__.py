"""What every kind of data set is made of: sources of images, lists of them, labels, and how they are opened."""
