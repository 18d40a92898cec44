"""Probes: what is trained on frozen features. Pure functions of arrays; no files, no prints, no globals."""
