"""Probes on patch features: coding of label maps, the linear probe, the in-context probe."""
