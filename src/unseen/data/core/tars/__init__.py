"""Tar files of images, read in place: their members, an index of them, ImageNet-21K and WebDataset shards."""
