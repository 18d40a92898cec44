"""Panels: a part of the concepts of each level, or of the test images, whose accuracy gives that of all of them."""
