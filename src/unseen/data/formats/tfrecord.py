"""TFRecord files of `tf.train.Example`, without TensorFlow.

A record is a length, eight bytes, its checksum, four bytes, the data, and their checksum: CRC-32C, rotated and offset
(https://www.tensorflow.org/tutorials/load_data/tfrecord). The data are a protocol buffer: features by name, each a list
of bytes, of floats or of whole numbers.
"""

import mmap
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.reading.guard import reading

EXPECTED = "a TFRecord file of examples"
HEADER, CHECKSUM = 12, 4
POLYNOMIAL = 0x82F63B78
MASK = 0xA282EAD8
WORD = 0xFFFFFFFF
STREAMS = 256
"""Parts of the data whose checksums are computed side by side."""
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5
"""Wire types of protocol buffers."""
LONGEST_VARINT = 10
Values = list[memoryview] | list[int]


def record_places(path: Path) -> Iterator[tuple[int, int]]:
    """(offset, size) of the data of each record; lengths are checked here, data when they are read."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        place = 0
        while place < end:
            file.seek(place)
            header = file.read(HEADER)
            if len(header) < HEADER:
                raise ValueError("it ends in the middle of a record")
            (size, checksum) = struct.unpack("<QI", header)
            if masked_checksum(header[:8]) != checksum:
                raise ValueError(f"the checksum of the length of the record at byte {place:,} is wrong")
            if place + HEADER + size + CHECKSUM > end:
                raise ValueError("it ends in the middle of a record")
            yield place + HEADER, size
            place += HEADER + size + CHECKSUM


def checked_record(content: bytes, path: Path, offset: int) -> memoryview:
    """The data of a record, from its data and their checksum."""
    data = memoryview(content)[:-CHECKSUM]
    if len(content) < CHECKSUM or masked_checksum(data) != struct.unpack("<I", content[-CHECKSUM:])[0]:
        raise UserError(f"{path}: the record at byte {offset:,} is damaged (checksum); get the file again")
    return data


def examples(path: Path) -> Iterator[tuple[int, int, dict[str, Values]]]:
    """(offset, size, features) of each record of a file, whose long values are not touched."""
    with reading(path, EXPECTED, "get the file again"):
        places = list(record_places(path))
        if not places:
            return
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            whole = memoryview(mapped)
            try:
                for offset, size in places:
                    found = parse_example(whole[offset : offset + size])
                    yield offset, size, found
                    for values in found.values():
                        for value in values:
                            if isinstance(value, memoryview):
                                value.release()
            finally:
                whole.release()


def parse_example(data: memoryview) -> dict[str, Values]:
    """The features of an example by name; floats are left out."""
    found = dict[str, Values]()
    for number, features in _fields(data):
        if number != 1 or not isinstance(features, memoryview):
            continue
        for _, entry in _fields(features):
            if isinstance(entry, memoryview):
                parts = dict(_fields(entry))
                name, feature = parts.get(1), parts.get(2)
                if isinstance(name, memoryview) and isinstance(feature, memoryview):
                    found[bytes(name).decode()] = _values(feature)
    return found


def _values(feature: memoryview) -> Values:
    for kind, values in _fields(feature):
        if kind == 1 and isinstance(values, memoryview):
            return [value for _, value in _fields(values) if isinstance(value, memoryview)]
        if kind == 3 and isinstance(values, memoryview):
            numbers = list[int]()
            for _, value in _fields(values):
                numbers += [value] if isinstance(value, int) else _packed(value)
            return numbers
    return []


def _packed(data: memoryview) -> Iterator[int]:
    place = 0
    while place < len(data):
        value, place = _varint(data, place)
        yield value


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """(number, value) of each field of a message."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind == VARINT:
            value, place = _varint(data, place)
            yield tag >> 3, value
            continue
        size, place = _varint(data, place) if kind == LENGTH else ({EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind, -1), place)
        if not 0 <= size <= len(data) - place:
            raise ValueError("a record is not an example")
        yield tag >> 3, data[place : place + size]
        place += size


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for length in range(min(LONGEST_VARINT, len(data) - place)):
        byte = data[place + length]
        value |= (byte & 0x7F) << (7 * length)
        if byte < 0x80:
            return value - (1 << 64) if value >= 1 << 63 else value, place + length + 1
    raise ValueError("a record is not an example")


def masked_checksum(data: bytes | memoryview) -> int:
    """The checksum that TFRecord files have of some data."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + MASK) & WORD


def crc32c(data: bytes | memoryview) -> int:
    """CRC-32C (Castagnoli), by column operations of NumPy.

    The checksum is linear over GF(2): with S the map of L zero bytes, the state after A and B of length L is S·state(A)
    XOR state(B) from zero. So equal parts are computed side by side, and joined by S, whose columns are 32 more parts.
    """
    table = _table()
    values = np.frombuffer(data, dtype=np.uint8)
    short = len(values) % STREAMS if len(values) >= 4 * STREAMS else len(values)
    state = WORD
    for byte in values[:short].tolist():
        state = int(table[(state ^ byte) & 0xFF]) ^ (state >> 8)
    if short < len(values):
        parts = values[short:].reshape(STREAMS, -1)
        states = np.zeros(STREAMS + 32, dtype=np.uint32)
        states[STREAMS:] = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
        for column in np.ascontiguousarray(parts.T):
            index = states & np.uint32(0xFF)
            index[:STREAMS] ^= column
            states = table[index] ^ (states >> np.uint32(8))
        (*sums,) = states[:STREAMS].tolist()
        by_byte = _byte_tables(states[STREAMS:])
        for part in sums:
            first, second, third, fourth = state.to_bytes(4, "little")
            state = by_byte[0][first] ^ by_byte[1][second] ^ by_byte[2][third] ^ by_byte[3][fourth] ^ part
    return state ^ WORD


def _byte_tables(columns: NDArray[np.uint32]) -> list[list[int]]:
    """For each byte of a word, what a linear map with these 32 columns gives for its 256 values."""
    found = []
    for byte in range(4):
        values = np.zeros(1, dtype=np.uint32)
        for column in columns[8 * byte : 8 * byte + 8]:
            values = np.concatenate([values, values ^ column])
        found.append(values.tolist())
    return found


@cache
def _table() -> NDArray[np.uint32]:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, (values >> 1) ^ np.uint32(POLYNOMIAL), values >> 1).astype(np.uint32)
    return values
