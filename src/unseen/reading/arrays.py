"""Reading arrays from NumPy files: without pickles, and limited to the size of the file and of memory."""

import os
from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import byte_size, refuse_special

SUFFIX = ".npy"
CHUNK = 1 << 24


def memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an `.npz` file by name; arrays with other names are not unpacked.

    A damaged file raises many kinds of errors: call this inside `unseen.reading.guard.reading`.

    Args:
        names: names of the wanted arrays, as far as they exist; None for all.
    """
    refuse_special(path)
    with path.open("rb") as file, ZipFile(file) as archive:
        members = {info.filename.removesuffix(SUFFIX): info for info in archive.infolist()}
        wanted = {name: info for name, info in members.items() if names is None or name in names}
        size = sum(info.file_size for info in wanted.values())
        if size > memory():
            raise UserError(f"{path}: unpacks to {byte_size(size)}, more than the memory of this machine")
        return {name: _unpacked(archive, info) for name, info in wanted.items()}


def read_npy(path: Path) -> NDArray[Any]:
    """The array of an `.npy` file; call this inside `reading`."""
    refuse_special(path)
    with path.open("rb") as file:
        return _array(file, os.fstat(file.fileno()).st_size)


def read_npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and dtype of the array whose bytes follow; pickled objects are refused."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(file)
    if version not in readers:
        raise ValueError(f"an array of format {version}")
    shape, fortran, dtype = readers[version](file)
    if dtype.hasobject:
        raise ValueError("it contains pickled objects")
    return shape, fortran, dtype


def _unpacked(archive: ZipFile, info: ZipInfo) -> NDArray[Any]:
    with archive.open(info) as file:
        return _array(file, info.file_size)


def _array(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array in a file of this size, which must match its header."""
    shape, fortran, dtype = read_npy_header(file)
    announced = prod(shape) * dtype.itemsize
    if announced != size - file.tell():
        raise ValueError(f"an array of {announced:,} bytes in {size - file.tell():,}")
    values: NDArray[Any] = np.empty(shape, dtype, order="F" if fortran else "C")
    room = values.reshape(-1, order="A").view(np.uint8).data if announced else memoryview(b"")
    done = 0
    while done < announced:
        count = file.readinto(room[done : done + CHUNK])  # type: ignore[attr-defined]
        if not count:
            raise ValueError("it is cut off")
        done += count
    return values
