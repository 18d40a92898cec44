"""Differences between backbones on the same test images: estimates, pairs, ranks, suites and plans of studies."""
