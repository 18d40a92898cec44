"""Optional accelerators: each a Triton kernel beside the plain PyTorch function that it must agree with."""
