"""Whether Triton's kernels can be used."""

from functools import cache
from importlib.util import find_spec

from torch import Tensor


@cache
def _there() -> bool:
    return find_spec("triton") is not None


def use_triton(tensor: Tensor) -> bool:
    """Whether Triton is installed and the tensor is on a GPU."""
    return tensor.is_cuda and _there()
