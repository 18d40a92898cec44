"""Features of patches by index: kept on a device if they fit there, otherwise read from the host when they are used."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.features.device_memory import sent
from unseen.features.forward import moved
from unseen.features.patches import PatchFeatures
from unseen.features.store import Shards

READ = 65_536
"""Patches brought to a device at once."""
READ_BYTES, PIECE_BYTES = 1 << 28, 1 << 21
"""Maximum bytes of rows brought to a device at once, and bytes copied by one thread at a time."""
S = TypeVar("S")
T = TypeVar("T")


def ahead(items: Iterable[S], read: Callable[[S], T]) -> Iterator[T]:
    """`read` of each item, one item ahead in another thread, which also advances `items`."""
    waiting = iter(items)

    def following() -> list[T]:
        return [read(item) for item in (next(waiting, None),) if item is not None]

    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(following)
        while found := coming.result():
            coming = reader.submit(following)
            yield found[0]


class HostRows(NamedTuple):
    """Features that were read for a device.

    Attributes:
        rows: (m, d) in page-locked memory for a GPU; None if the features are on the device.
        places: (m,) the row of each requested patch; None if they are in order.
    """

    rows: Tensor | None
    places: Tensor | None


@dataclass(frozen=True, eq=False)
class PatchRows:
    """The features of n patches, d numbers each, as they are needed on a device.

    Attributes:
        parts: arrays (·, d) of consecutive patches, such as memory-mapped files.
        dtype: of the features on the device.
        whole: (n, d) all features on the device, if they are kept there; parts are then not needed.
    """

    parts: Sequence[NDArray[Any]]
    device: torch.device
    dtype: torch.dtype
    whole: Tensor | None = None

    @classmethod
    def of(cls, features: PatchFeatures, device: torch.device, dtype: torch.dtype) -> "PatchRows":
        """All patches of all images of a store, image by image."""
        parts = features.X.parts if isinstance(features.X, Shards) else [np.asarray(features.X)]
        return cls([part.reshape(-1, features.channels) for part in parts], device, dtype)

    def __len__(self) -> int:
        return int(self._starts[-1]) if self.whole is None else len(self.whole)

    @property
    def channels(self) -> int:
        return int((self.parts[0] if self.whole is None else self.whole).shape[1])

    def on_device(self) -> "PatchRows":
        """The same with all features kept on the device."""
        whole = torch.empty(len(self), self.channels, dtype=self.dtype, device=self.device)
        start = 0
        at_once = max(1, min(READ, READ_BYTES // (self.channels * self.dtype.itemsize)))
        for rows in self.blocks(torch.split(torch.arange(len(self)), at_once)):
            whole[start : start + len(rows)] = rows
            start += len(rows)
        return replace(self, parts=(), whole=whole)

    def blocks(self, indices: Iterable[Tensor]) -> Iterator[Tensor]:
        """(m, d) features on the device for each index (m,) on the host, read one index ahead."""
        for index, read in ahead(indices, lambda index: (index, self.read(index))):
            yield self.put(index, read)

    def read(self, index: Tensor) -> HostRows:
        """Copy the features of some patches from their files, in the order in which they lie there."""
        if self.whole is not None:
            return HostRows(None, None)
        wanted, places = index.numpy(), None
        if (wanted[1:] < wanted[:-1]).any():
            order = np.argsort(wanted)
            wanted, places = wanted[order], torch.empty(len(order), dtype=torch.int64)
            places[torch.from_numpy(order)] = torch.arange(len(order))
        dtype = torch.from_numpy(np.empty(0, self.parts[0].dtype)).dtype
        rows = torch.empty(len(wanted), self.channels, dtype=dtype, pin_memory=self.device.type == "cuda")
        cuts, piece = np.searchsorted(wanted, self._starts), max(1, PIECE_BYTES // rows[:1].nbytes)
        edges = np.unique(np.concatenate([cuts, np.arange(0, len(wanted), piece)]))
        out = rows.numpy()

        def copy(start: int, stop: int) -> None:
            part = int(np.searchsorted(self._starts, wanted[start], side="right")) - 1
            local = wanted[start:stop] - self._starts[part]
            np.take(self.parts[part], local, axis=0, out=out[start:stop], mode="clip")  # other modes copy twice

        list(self._threads.map(copy, edges[:-1], edges[1:]))
        return HostRows(rows, places)

    def put(self, index: Tensor, read: HostRows) -> Tensor:
        """(m, d) features on the device, in the order of the index that they were read for."""
        if read.rows is None:
            assert self.whole is not None
            return self.whole[sent(index, self.device)]
        rows = moved(read.rows, self.device, self._copies).to(self.dtype)
        return rows if read.places is None else rows[sent(read.places, self.device)]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(part) for part in self.parts)])

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(torch.get_num_threads())

    @cached_property
    def _copies(self) -> "torch.cuda.Stream | None":
        return torch.cuda.Stream(self.device) if self.device.type == "cuda" else None  # type: ignore[no-untyped-call]


def sample_reading(channels: int, patches: int, device: torch.device) -> Callable[[], object]:
    """A function that reads this many patches in a random order to a GPU, to estimate the time of streaming."""
    held = np.ones((READ, channels), dtype=np.float16)
    rows = PatchRows([held], device, torch.float16)
    index = torch.randint(len(held), (patches,), generator=torch.Generator().manual_seed(0))
    return lambda: rows.put(index, rows.read(index))
