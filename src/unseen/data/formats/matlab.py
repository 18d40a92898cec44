"""Reader for MATLAB level 5 files (`.mat`, versions 5 to 7), limited to what data sets use.

Numbers, text, cells and structures are read; sparse and complex arrays, objects and functions are not. The format is
MathWorks' "MAT-File Format": a header of 128 bytes, then elements with a type, a size and data, padded to multiples of
eight bytes. Any element may be compressed, and matrices contain further elements.

SciPy's reader is not used, because these files are untrusted: it treats an unknown numeric type as an address and
recurses once per nested cell, and both can crash the process; a few hundred bytes can make it allocate gigabytes.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from unseen.reading.guard import read_bounded, reading

HEADER = 128
MAX_BYTES = 1 << 28
"""More than any label file needs; files that decompress to more are refused."""
MAX_DEPTH = 16
MAX_ELEMENTS = 1_000_000
"""Elements of a file, of which an array has five or, if it is empty, one. Each takes about 250 bytes of memory, however
few bytes it has; the largest file of labels that is read has 250,000.
"""
EMPTY = np.empty((0, 0))
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
MATRIX, COMPRESSED = 14, 15
CELL, STRUCTURE, CHARACTERS, FIRST_NUMBER, LAST_NUMBER = 1, 2, 4, 6, 15
ARRAY_TYPES = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
COMPLEX = 0x08


class _MalformedError(Exception):
    """Not a level 5 file, or one with contents that this reader does not support."""


@dataclass
class _Count:
    """The elements of a file that were read."""

    number: int = 0

    def add_one(self) -> None:
        self.number += 1
        if self.number > MAX_ELEMENTS:
            raise _MalformedError(
                f"it has more than {MAX_ELEMENTS:,} elements; save only the variables that are needed"
            )


@dataclass(frozen=True)
class _Bytes:
    """A sequence of elements, in the byte order (`<` or `>`) of their file."""

    data: memoryview
    order: str
    count: _Count

    def elements(self) -> Iterator[tuple[int, memoryview]]:
        """(type, bytes) of each element."""
        start = 0
        while start + 8 <= len(self.data):
            kind, size = struct.unpack_from(f"{self.order}II", self.data, start)
            begin = start + 8
            # Only compressed elements are not padded.
            following = begin + (size if kind == COMPRESSED else -(-size // 8) * 8)
            if kind >> 16:  # values of up to four bytes are stored in the tag itself
                kind, size, begin, following = kind & 0xFFFF, kind >> 16, start + 4, start + 8
            if begin + size > min(following, len(self.data)):
                raise _MalformedError("it ends in the middle of a value")
            self.count.add_one()
            yield kind, self.data[begin : begin + size]
            start = following

    def inside(self, data: memoryview) -> "_Bytes":
        return _Bytes(data, self.order, self.count)


def read_mat(path: Path) -> dict[str, Any]:
    """The variables of a file by name.

    Numbers become arrays of their shape, one-line text becomes a string, cells become lists, and structures become
    lists of dictionaries (in MATLAB's order if there are several dimensions).
    """
    with reading(path, "a MATLAB file of versions 5 to 7 that can be read"):
        return dict(_variables(read_bounded(path, MAX_BYTES)))


def whole_numbers(value: Any) -> list[int] | None:
    """The values of an array in MATLAB's order, or None if they are not all whole numbers (doubles are accepted)."""
    if not isinstance(value, np.ndarray) or not np.isfinite(value).all() or (value != np.round(value)).any():
        return None
    return [int(number) for number in value.ravel(order="F")]


def _variables(content: bytes) -> Iterator[tuple[str, Any]]:
    order = {b"IM": "<", b"MI": ">"}.get(content[126:HEADER])
    if order is None:
        raise _MalformedError("its first 128 bytes are not a MATLAB header")
    if content[:10] == b"MATLAB 7.3":
        raise _MalformedError("it is version 7.3 (HDF5); save it as version 7")
    whole = _Bytes(memoryview(content)[HEADER:], order, _Count())
    for kind, data in whole.elements():
        unpacked = whole.inside(_unpack(data)).elements() if kind == COMPRESSED else [(kind, data)]
        for inner, matrix in unpacked:
            if inner == MATRIX:
                yield _matrix(whole.inside(matrix), 0)


def _unpack(data: memoryview) -> memoryview:
    unpacker = zlib.decompressobj()
    unpacked = unpacker.decompress(data, MAX_BYTES)
    if not unpacker.eof:
        if len(unpacked) < MAX_BYTES:
            raise _MalformedError("it ends in the middle of a value")
        raise _MalformedError(f"it decompresses to more than {MAX_BYTES >> 20} MiB")
    return memoryview(unpacked)


def _matrix(data: _Bytes, depth: int) -> tuple[str, Any]:
    """Name and value of a matrix element of any class."""
    if depth > MAX_DEPTH:
        raise _MalformedError("it is nested too deep")
    parts = list(data.elements())
    if not parts:  # an empty cell is written this way
        return "", EMPTY
    if len(parts) < 3 or len(parts[0][1]) < 4 or len(parts[1][1]) < 8:
        raise _MalformedError("an array lacks its class, shape or name")
    flags = struct.unpack_from(f"{data.order}I", parts[0][1])[0]
    shape = tuple(np.frombuffer(parts[1][1], f"{data.order}i4").tolist())
    if min(shape) < 0:
        raise _MalformedError("an array has a negative size")
    name = bytes(parts[2][1]).decode("latin-1")
    kind, rest = flags & 0xFF, parts[3:]
    if (flags >> 8) & COMPLEX:
        raise _MalformedError(f"{name or 'an array'} is complex")
    if kind == CELL:
        return name, [_matrix(data.inside(cell), depth + 1)[1] for _, cell in _exactly(rest, prod(shape))]
    if kind == STRUCTURE:
        return name, _structures(data, rest, prod(shape), depth)
    if kind == CHARACTERS:
        return name, _text(rest, shape, data.order)
    if FIRST_NUMBER <= kind <= LAST_NUMBER:
        wanted = ARRAY_TYPES[kind - FIRST_NUMBER]
        stored, values = _exactly(rest, 1)[0]
        if stored not in NUMBERS:
            raise _MalformedError(f"numbers are stored as type {stored}")
        # MATLAB stores numbers in the smallest type that holds them, whatever the class of the array.
        with np.errstate(invalid="ignore"):  # a damaged file may contain NaN instead of whole numbers
            array = np.frombuffer(values, data.order + NUMBERS[stored]).astype(wanted)
        return name, array.reshape(shape, order="F")
    raise _MalformedError(f"{name or 'an array'} is of class {kind}, not numbers, text, cells or structures")


def _structures(data: _Bytes, parts: list[tuple[int, memoryview]], count: int, depth: int) -> list[dict[str, Any]]:
    if len(parts) < 2 or len(parts[0][1]) < 4:
        raise _MalformedError("a structure lacks the names of its fields")
    width = struct.unpack_from(f"{data.order}i", parts[0][1])[0]
    joined = bytes(parts[1][1])
    if width < 1:
        raise _MalformedError("a structure's names have no length")
    names = [joined[i : i + width].split(b"\0")[0].decode("latin-1") for i in range(0, len(joined), width)]
    # Structures without fields take no bytes, so that a small file could declare any number of them.
    if not names and count > 1:
        raise _MalformedError("structures without fields")
    values = [_matrix(data.inside(value), depth + 1)[1] for _, value in _exactly(parts[2:], count * len(names))]
    return [dict(zip(names, values[i * len(names) : (i + 1) * len(names)], strict=True)) for i in range(count)]


def _text(parts: list[tuple[int, memoryview]], shape: tuple[int, ...], order: str) -> str:
    if prod(shape) == 0:
        return ""
    if shape[0] != 1 or len(shape) != 2:
        raise _MalformedError("text of several lines")
    stored, values = _exactly(parts, 1)[0]
    if stored not in TEXT:
        raise _MalformedError(f"text is stored as type {stored}")
    codec = TEXT[stored]
    return bytes(values).decode(codec if codec in {"latin-1", "utf-8"} else codec + ("-le" if order == "<" else "-be"))


def _exactly(parts: list[tuple[int, memoryview]], count: int) -> list[tuple[int, memoryview]]:
    if len(parts) != count:
        raise _MalformedError(f"{len(parts)} values where {count} are expected")
    return parts
