"""Occlusion saliency: where a backbone looks, and how widely (Ericsson et al. 2021, A.9)."""
