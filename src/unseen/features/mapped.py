"""Large arrays of a user's own files, mapped into memory: where they lie in the file, or unpacked once beside it.

What is mapped is read when it is used, and all processes that use it share it.
"""

import json
import os
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.checked import Stamp, Tell, recall
from unseen.files import atomic_write, byte_size
from unseen.reading.arrays import read_npy_header

UNPACKED = ".unseen-unpacked.npy"
SAFETENSORS = {
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "U8": "<u1",
    "I8": "<i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
}
"""Types that NumPy has too; bfloat16 is none of them."""
BLOCK = 1 << 24
LOCAL_HEADER = struct.Struct("<26xHH")
"""Of a member of a zip archive: the lengths of its name and of what else is before its bytes."""


def map_stored(path: Path, info: ZipInfo) -> NDArray[Any] | None:
    """An array of an npz file, mapped where it lies; None where it is compressed.

    Its bytes are not read, nor compared with the archive's checksum: `check_stored` does that.
    """
    if info.compress_type != ZIP_STORED or info.flag_bits & 1:
        return None
    start = _start(path, info)
    with path.open("rb") as file:
        file.seek(start)
        shape, fortran, dtype = read_npy_header(file)
        offset = file.tell()
    if offset - start + dtype.itemsize * int(np.prod(shape, dtype=object)) != info.file_size:
        raise ValueError(f"{info.filename} is not as long as its shape says")
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def check_stored(path: Path, info: ZipInfo) -> None:
    """Refuse an array whose bytes do not have the archive's checksum."""
    member = np.memmap(path, np.uint8, "r", _start(path, info), (info.file_size,))
    checksum = 0
    for start in range(0, len(member), BLOCK):
        checksum = zlib.crc32(member[start : start + BLOCK].data, checksum)
    if checksum != info.CRC:
        raise UserError(f"{path}: {info.filename} is damaged (its checksum differs); copy or write the file again")


def unpack(path: Path, info: ZipInfo, tell: Tell | None) -> Path | None:
    """The file with a compressed array of an npz file, unpacked beside it once; None where there is no room for it.

    It is used again as long as a note says that it belongs to the file as it is (`unseen.features.checked`).
    """
    place = path.with_name(path.name + UNPACKED)
    if place.is_file() and recall(path, (Stamp.of(path), Stamp.of(place))):
        return place
    try:
        if shutil.disk_usage(path.parent).free < info.file_size:
            raise UserError("the disk is full")
        with ZipFile(path) as archive, archive.open(info) as member, atomic_write(place) as file:
            shutil.copyfileobj(member, file, BLOCK)
        changed = path.stat().st_mtime_ns
        os.utime(place, ns=(changed, changed))  # it is as old as what it was unpacked from
    except UserError:
        if tell:
            tell(f"{path}: compressed, and there is no room to unpack it beside it, so it is read into memory")
        return None
    if tell:
        tell(f"{path}: compressed, so it was unpacked once, {byte_size(info.file_size)}, to {place.name}")
    return place


def map_safetensors(path: Path) -> dict[str, NDArray[Any]] | None:
    """The tensors of a safetensors file, mapped; None where one is of a type that NumPy does not have."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > path.stat().st_size:
            raise ValueError("its header is longer than the file")
        header = json.loads(file.read(length))
    arrays: dict[str, NDArray[Any]] = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        if about["dtype"] not in SAFETENSORS:
            return None
        dtype, shape, (start, stop) = np.dtype(SAFETENSORS[about["dtype"]]), about["shape"], about["data_offsets"]
        if stop - start != dtype.itemsize * int(np.prod(shape, dtype=object)):
            raise ValueError(f"{name} is not as long as its shape says")
        arrays[name] = np.memmap(path, dtype, "r", 8 + length + start, tuple(shape))
    return arrays


def _start(path: Path, info: ZipInfo) -> int:
    """Where the bytes of a member begin."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return int(info.header_offset + LOCAL_HEADER.size + name + extra)
