"""Whether Triton can be used."""

import torch
from torch import Tensor

from unseen.features.gpu.triton_there import use_triton as use_triton_at_all


def use_triton(tensor: Tensor) -> bool:
    """Whether Triton is installed and the tensor is on a GPU; kernels compute in 32 bits, so 64 bits are left to
    PyTorch.
    """
    return tensor.dtype != torch.float64 and use_triton_at_all(tensor)
