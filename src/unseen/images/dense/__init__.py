"""Images whose labels are boxes or maps: detection, segmentation, surface normals, depth."""
