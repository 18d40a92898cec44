"""Rooms with furniture, rendered into images with classes, boxes, surface normals and depths."""
