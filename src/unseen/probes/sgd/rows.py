"""Features as sources of rows for training: on the device, streamed to it, or in a memory-mapped file.

A row has its d features, then a 1, whose weight is the bias, then zeros up to a convenient length. Sources give blocks
of rows by index; for a GPU, the index n, one past the last, stands for a row of zeros, which pads a batch without
changing its gradient.
"""

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from unseen.errors import UserError, row_numbers
from unseen.features.features import Rows
from unseen.features.store import Shards
from unseen.metrics.geometry import row_lengths
from unseen.probes.sgd.kernels.layout import padded

READ = 16_384
"""Rows brought to a GPU at once."""
READ_HERE = 1 << 19
"""Values read at once for a CPU, of which there are a few temporary copies."""
ALIGNED = 8
"""Dimensions of 16-bit rows are padded with zeros to a multiple of this: rows then start at multiples of 16 bytes."""
Prepare = Callable[[Tensor], Tensor]


class Resident:
    """Rows on the device, prepared once."""

    def __init__(self, X: Tensor, bias: int | None = None) -> None:
        """Take prepared rows; the last row of X must be zeros, and the column `bias`, if any, ones in the rows before
        it.
        """
        self.X, self.bias = X, bias
        self.count, self.dimension = len(X) - 1, X.shape[1]

    @classmethod
    def load(
        cls, X: Tensor | Rows, prepare: Prepare, *, device: torch.device, dtype: torch.dtype, name: str
    ) -> "Resident":
        """Read, check and prepare rows block by block, so that the host holds at most two blocks."""
        ready = torch.zeros(len(X) + 1, _wide(X, dtype), dtype=dtype, device=device)
        start = 0
        for raw in _staged(X, device):
            rows = _checked(raw, start, name)
            _fill(ready[start : start + len(rows)], prepare(rows))
            start += len(rows)
        return cls(ready, X.shape[1])

    def take(self, index: Tensor) -> Tensor:
        """(m, d) rows by their index (m,), which may be on the host."""
        return self.X.index_select(0, index.to(self.X.device))

    def blocks(self, indices: Iterable[Tensor], out: Tensor) -> Iterator[Tensor]:
        """Fill `out` (m, d) with the rows of each index (m,) in turn, and yield the index on the device."""
        for index in indices:
            place = index.to(self.X.device, non_blocking=True)
            torch.index_select(self.X, 0, place, out=out)
            yield place


class Mapped:
    """Rows that stay in their memory-mapped file and are normalised as they are drawn, for a CPU.

    Processes that work on the same features share the memory of the file; a prepared copy would be needed in each
    process. A batch takes little longer than from such a copy, since the lengths by which rows are divided (see
    `unit_rows`) are computed once, and is bit-identical to it.
    """

    def __init__(self, X: Rows, *, name: str) -> None:
        self._parts = _parts(X)
        self._starts = np.cumsum([0, *(len(part) for part in self._parts)])
        self.count, self.dimension, self.bias = len(X), X.shape[1] + 1, X.shape[1]
        wide = torch.float64 if X.dtype == np.float64 else torch.float32
        self._lengths, start = (
            torch.empty(2, len(X), 1, dtype=wide),
            0,
        )  # allocated at once: small pieces would fragment memory
        for raw in _staged(X, torch.device("cpu")):
            self._lengths[:, start : start + len(raw)] = torch.stack(row_lengths(_checked(raw, start, name)))
            start += len(raw)

    def room(self, rows: int) -> tuple[Tensor, Tensor]:
        """A buffer for drawing this many rows repeatedly."""
        return _like(self._parts, rows), torch.ones(rows, self.dimension)

    def draw(self, index: Tensor, room: tuple[Tensor, Tensor]) -> Tensor:
        """(m, d + 1) rows by their index (m,), in a buffer for at least m rows, valid until the next draw."""
        raw, out = (each[: len(index)] for each in room)
        rows = _read(self._parts, self._starts, index, raw)
        rows = rows if rows.dtype == torch.float64 else rows.float()
        largest, length = (lengths[index] for lengths in self._lengths)
        out[:, : self.bias] = rows.div_(largest).div_(length)
        return out

    def take(self, index: Tensor) -> Tensor:
        """The same in newly allocated memory."""
        return self.draw(index, self.room(len(index)))


class Streamed:
    """Rows that stay on the host or on disk, read one block ahead of the device through page-locked memory."""

    def __init__(
        self, X: Tensor | Rows, prepare: Prepare, *, device: torch.device, dtype: torch.dtype, name: str
    ) -> None:
        X = X.cpu() if isinstance(X, Tensor) else X
        self._parts = _parts(X)
        self._starts = np.cumsum([0, *(len(part) for part in self._parts)])
        self._prepare, self._device, self._dtype = prepare, device, dtype
        self.count, self.dimension, self.bias = len(X), _wide(X, dtype), X.shape[1]
        for start in range(0, len(X), READ):
            _checked(_tensor(X[start : start + READ]), start, name)

    def take(self, index: Tensor) -> Tensor:
        """(m, d) rows by their index (m,) on the host."""
        out = torch.zeros(len(index), self.dimension, dtype=self._dtype, device=self._device)
        rows = self._read(index, self._empty(len(index)))
        return self._fill_at(index.to(self._device), rows.to(self._device), out)

    def blocks(self, indices: Iterable[Tensor], out: Tensor) -> Iterator[Tensor]:
        """Fill `out` (m, d) with the rows of each index (m,) in turn, and yield the index on the device.

        While the device works on one block, another thread reads the next, which is copied to the device concurrently.
        Blocks go through two buffers in page-locked memory.
        """
        buffers = [_Buffer(self._empty(len(out)), self._device) for _ in range(2)]
        with ThreadPoolExecutor(1) as reader:
            waiting: deque[tuple[Tensor, _Buffer, Future[None]]] = deque()
            for number, index in enumerate(indices):
                buffer = buffers[number % 2]
                waiting.append((index, buffer, reader.submit(self._read_into, buffer, index)))
                if len(waiting) == 2:
                    yield self._put(*waiting.popleft(), out)
            for coming in waiting:
                yield self._put(*coming, out)

    def _put(self, index: Tensor, buffer: "_Buffer", reading: Future[None], out: Tensor) -> Tensor:
        reading.result()
        place, raw = buffer.sent(index, buffer.rows)
        self._fill_at(place, raw, out)
        return place

    def _fill_at(self, place: Tensor, raw: Tensor, out: Tensor) -> Tensor:
        _fill(out, self._prepare(raw))
        return out.masked_fill_((place == self.count)[:, None], 0)

    def _empty(self, rows: int) -> Tensor:
        return _like(self._parts, rows, pinned=self._device.type == "cuda")

    def _read_into(self, buffer: "_Buffer", index: Tensor) -> None:
        buffer.wait()
        self._read(index, buffer.rows)

    def _read(self, index: Tensor, rows: Tensor) -> Tensor:
        return _read(self._parts, self._starts, index, rows)


class ColumnsOf:
    """Some columns of a source, followed by a 1 whose weight is the bias, to score classifiers on."""

    def __init__(self, source: Resident | Streamed, columns: slice) -> None:
        self._source, self._columns = source, columns
        self.dimension = columns.stop - columns.start + 1

    def take(self, index: Tensor) -> Tensor:
        """(m, width + 1) rows by their index (m,), which is on the host."""
        return pad(self._source.take(index)[:, self._columns], (0, 1), value=1)


def _like(parts: Sequence[Tensor], rows: int, *, pinned: bool = False) -> Tensor:
    """Buffers for this many rows of some arrays, with their dtypes."""
    return torch.empty(rows, parts[0].shape[1], dtype=parts[0].dtype, pin_memory=pinned)


def _read(parts: Sequence[Tensor], starts: NDArray[np.int64], index: Tensor, rows: Tensor) -> Tensor:
    """Copy rows of consecutive arrays to `rows` on the host; the row of zeros may be replaced by any other."""
    wanted = index.numpy()
    part = np.minimum(np.searchsorted(starts, wanted, side="right") - 1, len(parts) - 1)
    for number, source in enumerate(parts):
        positions = np.flatnonzero(part == number)
        local = torch.from_numpy(np.minimum(wanted[positions] - starts[number], len(source) - 1))
        if len(positions) == len(wanted):
            torch.index_select(source, 0, local, out=rows)
        else:
            rows[torch.from_numpy(positions)] = source.index_select(0, local)
    return rows


class _Buffer:
    """Rows on the host that are copied to a device on a separate stream."""

    def __init__(self, rows: Tensor, device: torch.device) -> None:
        self.rows, self._device = rows, device
        self._side = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def wait(self) -> None:
        """Wait until the last copy is done and the rows may be overwritten."""
        if self._side:
            self._side.synchronize()

    def sent(self, *values: Tensor) -> tuple[Tensor, ...]:
        """Values on the device, including the rows; later work there waits for them."""
        if not self._side:
            return values
        with torch.cuda.stream(self._side):
            there = tuple(value.to(self._device, non_blocking=True) for value in values)
        current = torch.cuda.current_stream(self._device)
        current.wait_stream(self._side)
        for part in there:
            part.record_stream(current)
        return there


def _staged(X: Tensor | Rows, device: torch.device) -> Iterator[Tensor]:
    """All rows on a device, `READ` at a time or, on a CPU, `READ_HERE` values.

    To a GPU they go through two buffers in page-locked memory: a thread copies the next block out of the mapped file
    while the device has the last, so there is one copy on the host and only that thread waits for the disk.
    """
    if isinstance(X, Tensor) or device.type != "cuda":
        block = READ if device.type == "cuda" else max(1, READ_HERE // X.shape[1])
        for start in range(0, len(X), block):
            yield _tensor(X[start : start + block]).to(device)
        return
    raw = torch.from_numpy(np.empty(0, X.dtype)).dtype
    buffers = [_Buffer(torch.empty(READ, X.shape[1], dtype=raw, pin_memory=True), device) for _ in range(2)]

    def read(start: int, buffer: _Buffer) -> Tensor:
        buffer.wait()
        rows = buffer.rows[: min(READ, len(X) - start)]
        copy_rows(X, start, rows.numpy())
        return rows

    with ThreadPoolExecutor(1) as reader:
        starts = range(0, len(X), READ)
        coming = deque(reader.submit(read, start, buffers[i % 2]) for i, start in enumerate(starts[:2]))
        for i in range(len(starts)):
            (rows,) = buffers[i % 2].sent(coming.popleft().result())
            if i + 2 < len(starts):
                coming.append(reader.submit(read, starts[i + 2], buffers[i % 2]))
            yield rows


def copy_rows(X: Rows, start: int, out: NDArray[Any]) -> None:
    """Copy rows from `start` on directly from the underlying arrays."""
    pieces = X.pieces(start, start + len(out)) if isinstance(X, Shards) else [X[start : start + len(out)]]
    place = 0
    for piece in pieces:
        out[place : place + len(piece)] = piece
        place += len(piece)


def _parts(X: Tensor | Rows) -> list[Tensor]:
    """The arrays that X consists of, none of them read yet."""
    if isinstance(X, Tensor):
        return [X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a mapped file is read-only, and is not written to
        return [torch.from_numpy(np.asanyarray(part)) for part in getattr(X, "parts", [X])]


def _wide(X: Tensor | Rows, dtype: torch.dtype) -> int:
    return padded(X.shape[1] + 1, ALIGNED if dtype == torch.float16 else 1)


def _fill(out: Tensor, rows: Tensor) -> None:
    """Features and the 1; the rest is unchanged."""
    d = rows.shape[1]
    out[:, :d] = rows
    out[:, d] = 1


def _tensor(block: Any) -> Tensor:
    return block if isinstance(block, Tensor) else torch.from_numpy(np.array(block))


def _checked(rows: Tensor, start: int, name: str) -> Tensor:
    """The same rows, if all are finite real numbers."""
    if rows.is_complex():
        raise UserError(f"the {name} features are complex numbers; give real ones")
    bad = torch.where(~torch.isfinite(rows).all(dim=1))[0]
    if len(bad):
        where = row_numbers([start + row for row in bad.tolist()])
        raise UserError(f"the {name} features contain values that are not finite: {where}")
    return rows
