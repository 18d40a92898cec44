"""Reading arrays of bytes in the IDX format of MNIST, compressed or not."""

import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import refuse_pointer

BYTES = 0x08
CHUNK = 1 << 20


def idx_file(folder: Path, name: str) -> Path:
    """The file of that name, or the same with the suffix `.gz`."""
    existing = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if existing is None:
        raise UserError(f"{folder}: contains neither {name} nor {name}.gz")
    return existing


def idx_shape(path: Path) -> tuple[int, ...]:
    """Shape of the array in a complete file; a compressed file is read to its end to check its length."""
    with _opened(path) as (file, shape):
        count = _count(file, prod(shape))
    _check_count(path, shape, count)
    return shape


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array in a file."""
    with _opened(path) as (file, shape):
        # Reading one byte more than the header promises is enough to detect extra values.
        content = file.read(prod(shape) + 1)
    _check_count(path, shape, len(content))
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, tuple[int, ...]]]:
    """The file positioned after its header, and the shape given there."""
    refuse_pointer(path)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as opened:
            file = cast("BinaryIO", opened)
            zeros, kind, dimensions = struct.unpack(">HBB", file.read(4))
            if zeros != 0 or kind != BYTES or dimensions == 0:
                raise UserError(f"{path}: not an IDX file of bytes")
            yield file, struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
    except (OSError, EOFError, struct.error, zlib.error) as error:
        raise UserError(f"{path}: not an IDX file that can be read ({error})") from None


def _count(file: BinaryIO, expected: int) -> int:
    """Number of values left in a file; for a compressed file, counting stops once there are more than expected."""
    if not isinstance(file, gzip.GzipFile):
        return os.fstat(file.fileno()).st_size - file.tell()
    count = 0
    while count <= expected and (chunk := file.read(CHUNK)):
        count += len(chunk)
    return count


def _check_count(path: Path, shape: tuple[int, ...], count: int) -> None:
    if count != prod(shape):
        raise UserError(f"{path}: {count:,} values, but its header says {' × '.join(map(str, shape))}")
