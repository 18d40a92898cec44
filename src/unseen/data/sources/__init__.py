"""Images as people have them: lists, tables, Arrow folders, ImageNet's own files and torchvision's data sets."""
