"""The sizes of the pages of a Parquet column, read from their headers before any page is expanded.

A page says how large it becomes when it is decompressed, and Arrow allocates that much: a few kilobytes can demand
gigabytes. The footer repeats only sums, which a hostile file can state as it likes; what counts is in the headers, one
before each page, in Thrift's compact protocol.
"""

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

from unseen.errors import UserError
from unseen.files import byte_size

MOST_PAGE = 1 << 30
"""Bytes of a page, expanded; Arrow writes pages of up to 1,024 images."""
WINDOW, LONGEST_HEADER = 1 << 12, 1 << 24
"""Bytes of a header that are read first, and at most: it may contain the smallest and the largest value of its page."""
DEEPEST = 16
TYPE, EXPANDED, STORED, DATA, DATA_V2 = 1, 2, 3, 5, 8
"""Field numbers of `PageHeader` in Parquet's definition; the first field of the last two is a number of values."""
DICTIONARY = 2
"""`PageType` of a dictionary, which is before the pages that refer to it."""
TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, _, STRUCT = range(1, 13)
FIXED = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}
"""Bytes of values; truth is in the type itself, except in lists."""
LONG_LIST = 15


@dataclass(frozen=True)
class Pages:
    """The pages of one column in one row group.

    Attributes:
        sizes: bytes of each page with values, expanded.
        dictionary: bytes of the dictionary, expanded; a value of the column can be as large. 0 if there is none.
        values: number of values in all pages, those in lists counted one by one.
    """

    sizes: tuple[int, ...]
    dictionary: int
    values: int

    def rows_within(self, most: int) -> int:
        """How many consecutive values take at most `most` bytes, wherever they are; at least one.

        Values are references to the dictionary, each as large as all of it at worst, or are themselves in pages: then
        so many values are in no more pages than that, and take no more than the largest of these.
        """
        rows = max(1, most // self.dictionary) if self.dictionary else self.values
        for number, total in enumerate(accumulate(sorted(self.sizes, reverse=True))):
            if total > most:
                return max(1, min(rows, number))
        return max(1, rows)


def pages(path: Path, file: BinaryIO, chunk: Any) -> Pages:
    """The pages of a column chunk, given its metadata as PyArrow reads them; too large a page is refused."""
    start, size = chunk.data_page_offset, chunk.total_compressed_size
    if chunk.has_dictionary_page and chunk.dictionary_page_offset and chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    sizes, dictionary, values = list[int](), 0, 0
    end = start + size
    while start < end:
        fields, length = _header(file, start, end)
        expanded, stored = fields.get(EXPANDED), fields.get(STORED)
        if not isinstance(expanded, int) or not isinstance(stored, int) or min(expanded, stored) < 0:
            raise ValueError("a page without its size")
        if expanded > MOST_PAGE:
            raise UserError(
                f"{path}: a page of the column '{chunk.path_in_schema}' expands to {byte_size(expanded)}; write the "
                "file again with smaller row groups, such as row_group_size=100"
            )
        if fields.get(TYPE) == DICTIONARY:
            dictionary = max(dictionary, expanded)
        else:
            sizes.append(expanded)
            values += _number(fields.get(DATA) or fields.get(DATA_V2))
        start += length + stored
    return Pages(tuple(sizes), dictionary, values)


def _number(header: Any) -> int:
    number = header.get(1) if isinstance(header, dict) else None
    if not isinstance(number, int) or number < 0:
        raise ValueError("a page without its number of values")
    return number


def _header(file: BinaryIO, start: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the page header at an offset, and its length in bytes."""
    window = WINDOW
    while True:
        file.seek(start)
        data = file.read(min(window, end - start))
        try:
            reader = _Compact(data)
            return reader.struct(0), reader.at
        except IndexError:
            if window >= LONGEST_HEADER or len(data) < window:
                raise ValueError("a page header that does not end") from None
            window *= 8


class _Compact:
    """Thrift's compact protocol, as far as page headers use it; what is cut off raises `IndexError`."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Field number → value of whole numbers and structs; others are skipped."""
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int, *, in_list: bool = False) -> Any:
        if kind in {SHORT, INT, LONG}:
            return self._signed()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in {LIST, SET}:
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < LONG_LIST else self._varint()):
                self._value(head & 15, depth + 1, in_list=True)
        elif kind in FIXED:
            self._skip(in_list if kind in {TRUE, FALSE} else FIXED[kind])
        elif kind == BINARY:
            self._skip(self._varint())
        else:
            raise ValueError(f"a field of the unknown type {kind}")
        return None

    def _byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise IndexError

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
