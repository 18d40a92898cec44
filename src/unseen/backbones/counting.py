"""What a backbone costs on any machine: the parameters and the multiply-adds behind its features of one image.

Both are counted in one forward pass of an image of zeros, from the operations that PyTorch carries out. What comes
after the layer of the features, such as the classifier, is not run and hence not counted. Products of matrices,
convolutions and attention are counted; what works on each value by itself, reduces, normalizes, pools, interpolates or
moves values is not (`free_operations`). Of a network with any other operation, the number is unknown.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from unseen.backbones.backbone import Backbone, device_of
from unseen.backbones.free_operations import is_free

aten = torch.ops.aten


def _of_vectors(first: Tensor, *rest: Any, **kwargs: Any) -> int:
    """Operations of the product of a matrix or vector with a vector, which is as long as a row."""
    return 2 * first.numel()


def _added_to_vectors(_: Tensor, matrix: Tensor, *rest: Any, **kwargs: Any) -> int:
    return 2 * matrix.numel()


def _added_to_batches(_: Tensor, first: Tensor, second: Tensor, *rest: Any, **kwargs: Any) -> int:
    """Operations of products of (b, n, d) and (b, d, m)."""
    return 2 * first.numel() * second.shape[-1]


FORMULAS: dict[Any, Any] = {
    aten.mv: _of_vectors, aten.dot: _of_vectors, aten.vdot: _of_vectors,
    aten.addmv: _added_to_vectors, aten.addmv_: _added_to_vectors,
    aten.addmm_: _added_to_batches, aten.addbmm: _added_to_batches, aten.addbmm_: _added_to_batches,
    aten.baddbmm_: _added_to_batches,
}  # fmt: skip
"""The operations of products, two for each multiply-add, whose formula PyTorch lacks."""


@dataclass(frozen=True)
class Counted:
    """The cost of a backbone's features of one image.

    Attributes:
        parameters: number of parameters that the forward pass to the features reads, each once.
        multiply_adds: of convolutions, matrix products and attention; None if they cannot be counted.
        uncounted: why they cannot be counted; empty if they are.
    """

    parameters: int
    multiply_adds: int | None
    uncounted: str = ""


KNOWN: WeakKeyDictionary[nn.Module, dict[int, Counted]] = WeakKeyDictionary()
"""Module → side of the images → what was counted."""


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation of a forward pass, below autograd and below the modules."""

    def __init__(self, parameters: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.parameters, self.read = parameters, set[int]()
        self.operations, self.opaque = 0, ""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No, since PyTorch otherwise imports its compiler to protect this from it, which takes a second."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet, name = func._overloadpacket, func._schema.name
        formula = flop_registry.get(packet)
        if formula is None and func is not torch.ops.prim.device.default:
            with self:  # in inference mode, operations arrive before they are taken apart
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        self.read.update(id(each) for each in tree_leaves((args, kwargs)) if id(each) in self.parameters)
        found = func(*args, **kwargs)
        if formula is not None:
            self.operations += formula(*args, **kwargs, out_val=found)
        elif packet in FORMULAS:
            self.operations += FORMULAS[packet](*args, **kwargs)
        elif not is_free(func, (args, kwargs)):
            self.opaque = self.opaque or name
        return found


def count(backbone: Backbone) -> Counted:
    """Count in one forward pass of one image, on the device that the backbone is on; once for each backbone.

    A multiply-add is half of the operations that `torch.utils.flop_counter` has formulas for, as the literature counts
    them: additions of biases, norms, activations and other elementwise work are left out. Of a network that does not
    run in PyTorch, the parameters are those that its file has.
    """
    module, size = backbone.module, backbone.spec.transform.size
    of_sizes = KNOWN.setdefault(module, {})
    if size not in of_sizes:
        of_sizes[size] = _counted(module, size, backbone.spec.parameters)
    return of_sizes[size]


def _counted(module: nn.Module, size: int, known: int) -> Counted:
    """Count; `known` is the number of parameters of a network that keeps them outside of PyTorch."""
    every = {id(each): each for each in module.parameters()}
    counter, failed = _Counter({*every}), False
    images = torch.zeros(1, 3, size, size, device=device_of(module))
    try:
        with torch.no_grad(), _separate_products(), counter:
            module(images)
    except Exception:  # a network may refuse to be watched for any reason; its features do not depend on this
        failed = True
    read = sum(every[each].numel() for each in counter.read)
    parameters = read if read and not failed else known
    if failed:
        return Counted(parameters, None, "its forward pass cannot be watched")
    if counter.opaque:
        return Counted(parameters, None, f"it uses {counter.opaque}, which cannot be counted")
    if not counter.operations:
        return Counted(parameters, None, "none of its products is computed by PyTorch")
    return Counted(parameters, counter.operations // 2)


@contextmanager
def _separate_products() -> Iterator[None]:
    """Attention as the products that it consists of: fused kernels have formulas on some devices only."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
