"""Work in the middle of a training that leaves no trace in it: the training goes on as if nothing had happened.

Restored exactly are the mode of every module, buffers (new ones are removed), random states, the recording of
gradients, autocast with its cache, the default dtype, the precision of products, and whether algorithms have to be
deterministic. Numbers of threads are never set, because the first call that sets one changes how a processor's library
rounds.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, eq=False)
class RandomState:
    """The states of the generators that a training draws from.

    Attributes:
        devices: one per GPU; empty if none is in use.
    """

    python: Any
    numpy: Any
    torch: Tensor
    devices: Sequence[Tensor]

    @classmethod
    def now(cls) -> Self:
        """The present states."""
        in_use = torch.cuda.is_available() and torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        gpus = torch.cuda.get_rng_state_all() if in_use else []
        return cls(random.getstate(), np.random.get_state(), torch.get_rng_state(), gpus)  # noqa: NPY002  (theirs)

    def restore(self) -> None:
        """Set all generators to these states."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)  # noqa: NPY002
        torch.set_rng_state(self.torch)
        if self.devices:
            torch.cuda.set_rng_state_all(self.devices)


@contextmanager
def same_random_state() -> Iterator[None]:
    """Restores the state of all generators at the end."""
    before = RandomState.now()
    try:
        yield
    finally:
        before.restore()


@contextmanager
def undisturbed(modules: Sequence[nn.Module]) -> Iterator[None]:
    """A block with the modules in evaluation mode and PyTorch at its defaults; all is restored at the end.

    Modes are set module by module, without calling `eval()`: some networks do more when it is called, such as merging
    weights, which could not be undone exactly. Buffers are copied before, which takes as much memory as they do.
    """
    every = [*dict.fromkeys(each for module in modules for each in module.modules())]
    modes = [each.training for each in every]
    kept = [_Buffers.of(each) for each in every]
    with ExitStack() as stack:
        stack.enter_context(same_random_state())
        stack.enter_context(_usual_settings())
        for module, mode in zip(every, modes, strict=True):
            stack.callback(setattr, module, "training", mode)
            module.training = False
        for buffers in kept:
            stack.callback(buffers.restore)
        yield


@dataclass(frozen=True, eq=False)
class _Buffers:
    """The buffers of a module (not of those inside it), with the versions and the values that they had."""

    module: nn.Module
    tensors: dict[str, Tensor | None]
    temporary: set[str]
    versions: dict[str, int]
    values: dict[str, Tensor]

    @classmethod
    def of(cls, module: nn.Module) -> Self:
        tensors = dict(module._buffers)
        there = {name: buffer for name, buffer in tensors.items() if buffer is not None}
        with torch.no_grad():
            values = {name: buffer.detach().clone() for name, buffer in there.items()}
        versions = {name: _version(buffer) for name, buffer in there.items()}
        return cls(module, tensors, set(module._non_persistent_buffers_set), versions, values)

    def restore(self) -> None:
        """Put back what was changed, and remove what is new.

        Other buffers are not written: a pending backward pass may need them. One whose version is the same was written
        through `.data`, and its values are put back in the same way.
        """
        present = self.module._buffers
        if [*present] != [*self.tensors] or any(present[name] is not each for name, each in self.tensors.items()):
            present.clear()
            present.update(self.tensors)
        self.module._non_persistent_buffers_set.clear()
        self.module._non_persistent_buffers_set.update(self.temporary)
        for name, value in self.values.items():
            buffer = present[name]
            assert buffer is not None
            with torch.no_grad():
                if _version(buffer) != self.versions[name]:
                    buffer.copy_(value)
                elif not _same(buffer, value):
                    buffer.data.copy_(value)


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same values; those that are no numbers are equal to each other."""
    return torch.equal(one, other) or bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124


def _version(tensor: Tensor) -> int:
    """How often a tensor was written to; −1 for one of inference mode, which does not count."""
    return -1 if tensor.is_inference() else tensor._version


@contextmanager
def _usual_settings() -> Iterator[None]:
    """PyTorch's defaults: no autocast, gradients recorded, 32-bit floats with full products, any algorithm."""
    dtype, cached = torch.get_default_dtype(), torch.is_autocast_cache_enabled()
    casting = any(torch.is_autocast_enabled(device) for device in DEVICES)
    strict = torch.get_deterministic_debug_mode()
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.enable_grad())
        for device in DEVICES:
            if device == "cpu" or torch.cuda.is_available():
                stack.enter_context(torch.autocast(device, enabled=False, cache_enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        stack.enter_context(_full_products())
        stack.callback(torch.set_default_dtype, dtype)
        stack.callback(torch.set_deterministic_debug_mode, strict)
        stack.callback(torch.set_autocast_cache_enabled, cached)
        torch.set_default_dtype(torch.float32)
        torch.set_deterministic_debug_mode(0)
        # A weight that is cast and kept without gradients would give the training none.
        torch.set_autocast_cache_enabled(False)
        try:
            yield
        finally:
            if casting and cached:  # by an autocast inside the network
                torch.clear_autocast_cache()


@contextmanager
def _full_products() -> Iterator[None]:
    """Full precision of products of 32-bit floats, as in a study."""
    before: str | None = None
    with suppress(RuntimeError):  # set by another interface of PyTorch, which does not allow reading it by this one
        before = torch.get_float32_matmul_precision()
    if before in {None, "highest"}:
        yield
        return
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(str(before))
