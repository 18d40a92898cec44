"""A step on a GPU, recorded once as a CUDA graph and replayed: the host need not start its kernels one by one."""

import pickle
import random
import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

WARM = 1
"""Calls in which a device sets itself up, which neither tell what the step does nor can be recorded."""
WAITED = "called a synchronizing CUDA operation"
"""How PyTorch's warnings of it begin."""


class Replay:
    """A function of tensors on a GPU; its third call is recorded, and that is replayed from then on.

    The function may change tensors in place. It has to do the same to the same memory at every call: what varies is
    in its arguments or in tensors it reads, and random numbers are the device's, whose seed may differ from call to
    call. Where a call waits for the device, draws from the host's global random numbers, or puts other tensors in
    place of those of its network, a record could not do or would repeat that: then the function is called every time,
    as it is for arguments of other shapes.

    What a call returns is overwritten by the next.

    Attributes:
        failed: whether a record failed in this process. PyTorch does not give back all it took for that, so none is
            tried again.
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
        """Call the function on the stream of the record, as automatic differentiation keeps to the stream it meets."""
        usual = torch.cuda.current_stream(self.side.device)
        self.side.wait_stream(usual)
        with torch.cuda.stream(self.side):
            result = self.function(*arguments)
        usual.wait_stream(self.side)
        return result

    def _watched(self, *arguments: Tensor) -> Tensor:
        """Call the function, and see whether it can be recorded."""
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
                torch.cuda.stream(usual),  # a record that fails may leave its own in place
                torch.cuda.graph(graph, stream=self.side, capture_error_mode="thread_local"),
            ):
                self.result = self.function(*self.arguments)
        except RuntimeError:  # it does what no graph can hold
            numbers.graphsafe_set_state(kept)  # which would go on believing that it is recorded
            self.recordable, self.arguments, self.result = False, [], None
            Replay.failed = True
        else:
            self.graph = graph


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One a device: matrix products keep memory for every stream that they were ever on."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _places(network: nn.Module) -> list[int]:
    """Where the numbers of a network are."""
    return [tensor.data_ptr() for tensors in (network.parameters(), network.buffers()) for tensor in tensors]


def _host_numbers() -> tuple[bytes, ...]:
    """The states of the random numbers of the host."""
    others = random.getstate(), np.random.get_state()  # noqa: NPY002 - what a network may draw from
    return torch.get_rng_state().numpy().tobytes(), pickle.dumps(others)
