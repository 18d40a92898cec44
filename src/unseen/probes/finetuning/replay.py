"""A training step on a GPU, recorded once as a CUDA graph and replayed, so that the host launches no kernels."""

import pickle
import random
import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

WARM = 1
"""Calls in which a device initialises itself, which are neither representative nor recordable."""
WAITED = "called a synchronizing CUDA operation"
"""How PyTorch's warnings about synchronisation begin."""


class Replay:
    """A function of tensors on a GPU; its third call is recorded, and the record is replayed from then on.

    The function may modify tensors in place. It must do the same to the same memory at every call: anything that varies
    is in its arguments or in tensors it reads, and random numbers come from the device, whose seed may differ from call
    to call. If a call synchronises with the device, uses the host's global random generators, or replaces tensors of
    its network, a record would be impossible or wrong: then the function is called every time, as it is for arguments
    of other shapes.

    The result of a call is overwritten by the next call.

    Attributes:
        failed: whether recording has failed in this process. PyTorch does not release all memory used for it, so it is
            not tried again.
    """

    failed = False

    def __init__(self, function: Callable[..., Tensor], network: nn.Module, device: torch.device) -> None:
        self.function, self.network = function, network
        self.side = _stream(device)
        self.calls = 0
        self.recordable = False
        self.graph: torch.cuda.CUDAGraph | None = None
        self.arguments: list[Tensor] = []
        self.result: Tensor | None = None

    def __call__(self, *arguments: Tensor) -> Tensor:
        self.calls += 1
        if self.calls == WARM + 1:
            return self._watched(*arguments)
        if self.recordable and self.graph is None:
            self._record(*arguments)
        if self.graph is None or self.result is None or not self._fit(*arguments):
            return self._aside(*arguments)
        for held, given in zip(self.arguments, arguments, strict=True):
            held.copy_(given, non_blocking=True)
        self.graph.replay()
        return self.result

    def _fit(self, *arguments: Tensor) -> bool:
        return all(
            (held.shape, held.dtype) == (given.shape, given.dtype)
            for held, given in zip(self.arguments, arguments, strict=True)
        )

    def _aside(self, *arguments: Tensor) -> Tensor:
        """Call the function on the recording stream, since automatic differentiation stays on the stream it was called
        on.
        """
        usual = torch.cuda.current_stream(self.side.device)
        self.side.wait_stream(usual)
        with torch.cuda.stream(self.side):
            result = self.function(*arguments)
        usual.wait_stream(self.side)
        return result

    def _watched(self, *arguments: Tensor) -> Tensor:
        """Call the function, and check whether it can be recorded."""
        before = _host_numbers(), _places(self.network)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            usual = torch.cuda.get_sync_debug_mode()
            torch.cuda.set_sync_debug_mode("warn")
            try:
                result = self._aside(*arguments)
            finally:
                torch.cuda.set_sync_debug_mode(usual)
        waits = any(str(warning.message).startswith(WAITED) for warning in caught)
        self.recordable = not (waits or Replay.failed) and before == (_host_numbers(), _places(self.network))
        return result

    def _record(self, *arguments: Tensor) -> None:
        self.arguments = [argument.clone() for argument in arguments]
        graph = torch.cuda.CUDAGraph()
        numbers = torch.cuda.default_generators[self.side.device.index]
        kept = numbers.clone_state()
        usual = torch.cuda.current_stream(self.side.device)
        try:
            with (
                torch.cuda.stream(usual),  # a failed recording may leave its own generator state
                torch.cuda.graph(graph, stream=self.side, capture_error_mode="thread_local"),
            ):
                self.result = self.function(*self.arguments)
        except RuntimeError:  # it contains an operation that no graph supports
            numbers.graphsafe_set_state(kept)  # otherwise it would still consider itself recorded
            self.recordable, self.arguments, self.result = False, [], None
            Replay.failed = True
        else:
            self.graph = graph


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One stream per device: matrix products keep memory for every stream they were ever run on."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _places(network: nn.Module) -> list[int]:
    """Memory addresses of a network's tensors."""
    return [tensor.data_ptr() for tensors in (network.parameters(), network.buffers()) for tensor in tensors]


def _host_numbers() -> tuple[bytes, ...]:
    """The states of the host's random generators."""
    others = random.getstate(), np.random.get_state()  # noqa: NPY002 - what a network may draw from
    return torch.get_rng_state().numpy().tobytes(), pickle.dumps(others)
