"""Decoding and resizing of JPEGs on a GPU, with the bytes of libjpeg and PIL."""
