"""The inputs of probes, one file each: what their cells need, which jobs they are, and how these are computed."""
