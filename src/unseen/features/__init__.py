"""Features of images: their data structures, storage, extraction and file formats."""
