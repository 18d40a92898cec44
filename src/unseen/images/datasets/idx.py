"""Reading arrays of bytes in the IDX format of MNIST, compressed or not."""

import gzip
import struct
import zlib
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

BYTES = 0x08


def idx_file(folder: Path, name: str) -> Path:
    """The file of that name, or the same with `.gz`."""
    found = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if found is None:
        raise UserError(f"{folder}: neither {name} nor {name}.gz in it")
    return found


def idx_shape(path: Path) -> tuple[int, ...]:
    """Sizes of the array in a file, from its header."""
    return _read(path, with_values=False)[0]


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array in a file."""
    shape, content = _read(path, with_values=True)
    if len(content) != prod(shape):
        raise UserError(f"{path}: {len(content):,} values, but its header says {' × '.join(map(str, shape))}")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _read(path: Path, *, with_values: bool) -> tuple[tuple[int, ...], bytes]:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            zeros, kind, dimensions = struct.unpack(">HBB", file.read(4))
            if zeros != 0 or kind != BYTES or dimensions == 0:
                raise UserError(f"{path}: not an IDX file of bytes")
            shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
            # One byte more than announced is enough to see that there are too many.
            return shape, file.read(prod(shape) + 1) if with_values else b""
    except (OSError, EOFError, struct.error, zlib.error) as error:
        raise UserError(f"{path}: not an IDX file that can be read ({error})") from None
