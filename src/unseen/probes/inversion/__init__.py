"""Images from features by a deep image prior (Ericsson et al. 2021, A.8)."""
