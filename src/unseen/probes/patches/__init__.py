"""Probes on the features of patches: what maps of labels become, the linear probe, the in-context probe."""
