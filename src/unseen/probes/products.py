"""Products of 16-bit factors, summed and returned in 32 bits."""

import torch
from torch import Tensor


def wide_product(A: Tensor, B: Tensor) -> Tensor:
    """(n, m) A @ B in float32, also for 16-bit factors, for which a CPU has no such product.

    A 16-bit result would be infinite beyond 65,504, and the cosines of similar vectors would have three digits.
    """
    return torch.mm(A, B, out_dtype=torch.float32) if A.is_cuda and A.dtype == torch.float16 else A.float() @ B.float()
