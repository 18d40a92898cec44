"""Images labelled with boxes or per-pixel maps: detection, segmentation, surface normals, depth."""
