"""Whether Triton can be used."""

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor


@cache
def _there() -> bool:
    return find_spec("triton") is not None


def use_triton(tensor: Tensor) -> bool:
    """Triton is installed and the tensor is on a GPU; the kernels compute in 32 bits, so 64 are left to PyTorch."""
    return tensor.is_cuda and tensor.dtype != torch.float64 and _there()
