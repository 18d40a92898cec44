"""Large arrays in a user's own files, memory-mapped: in the file itself, or unpacked once beside it.

Mapped data is read on use, and all processes share it.
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
"""Dtypes that NumPy supports; bfloat16 is not among them."""
BLOCK = 1 << 24
LOCAL_HEADER = struct.Struct("<26xHH")
"""Format of a zip member's header: the lengths of its name and of the extra field before its data."""


def map_stored(path: Path, info: ZipInfo) -> NDArray[Any] | None:
    """An array of an npz file, mapped in place; None if it is compressed.

    Its bytes are neither read nor compared with the archive's checksum: `check_stored` does that.
    """
    if info.compress_type != ZIP_STORED or info.flag_bits & 1:
        return None
    start = _start(path, info)
    with path.open("rb") as file:
        file.seek(start)
        shape, fortran, dtype = read_npy_header(file)
        offset = file.tell()
    if offset - start + dtype.itemsize * int(np.prod(shape, dtype=object)) != info.file_size:
        raise ValueError(f"{info.filename} does not have the length given by its shape")
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def check_stored(path: Path, info: ZipInfo) -> None:
    """Refuse an array that does not match the archive's checksum."""
    member = np.memmap(path, np.uint8, "r", _start(path, info), (info.file_size,))
    checksum = 0
    for start in range(0, len(member), BLOCK):
        checksum = zlib.crc32(member[start : start + BLOCK].data, checksum)
    if checksum != info.CRC:
        raise UserError(f"{path}: {info.filename} is damaged (its checksum differs); copy or write the file again")


def unpack(path: Path, info: ZipInfo, tell: Tell | None) -> Path | None:
    """The file with a compressed array of an npz file, unpacked beside it once; None if there is no disk space.

    It is reused as long as a note confirms that it belongs to the current state of the file
    (`unseen.features.checked`).
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
        os.utime(place, ns=(changed, changed))  # it gets the timestamp of the file it was unpacked from
    except UserError:
        if tell:
            tell(f"{path}: compressed, and there is no space to unpack it beside it, so it is read into memory")
        return None
    if tell:
        tell(f"{path}: compressed, so it was unpacked once, {byte_size(info.file_size)}, to {place.name}")
    return place


def map_safetensors(path: Path) -> dict[str, NDArray[Any]] | None:
    """The tensors of a safetensors file, mapped; None if one has a dtype that NumPy lacks."""
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
            raise ValueError(f"{name} does not have the length given by its shape")
        arrays[name] = np.memmap(path, dtype, "r", 8 + length + start, tuple(shape))
    return arrays


def _start(path: Path, info: ZipInfo) -> int:
    """Offset of the data of a member."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return int(info.header_offset + LOCAL_HEADER.size + name + extra)
