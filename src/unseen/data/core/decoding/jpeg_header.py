"""The header of a JPEG file, as far as it decides which decoder may be used."""

import re
from dataclasses import dataclass, field
from itertools import accumulate

ALONE = {0x01, *range(0xD0, 0xD8)}
"""Markers without a segment."""
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
BASELINE, HUFFMAN, START_OF_SCAN, QUANTISATION, INTERVAL, APP1, APP14 = 0xC0, 0xC4, 0xDA, 0xDB, 0xDD, 0xE1, 0xEE
END = b"\xff\xd9"
MARKER = re.compile(rb"\xff[^\x00]", re.DOTALL)
SAMPLINGS = {(1, 1), (2, 1), (2, 2)}
SMALLEST = 5
"""Minimum width in pixels: libjpeg upsamples narrower images differently."""


@dataclass(frozen=True)
class JpegHeader:
    """A header up to the first scan.

    Attributes:
        size: width and height.
        plain: a baseline file that a GPU decodes like libjpeg: 8 bits, one scan of grey or YCbCr, valid tables, and no
            unexpected marker within the scan. Truncated files, and files so corrupted that libjpeg rejects them, are
            not plain.
        sampling: pixels per chroma sample, along rows and along columns.
        exif: whether there is an EXIF segment.
    """

    size: tuple[int, int]
    plain: bool
    sampling: tuple[int, int]
    exif: bool


@dataclass
class _Segments:
    """What the segments before the scan define.

    Attributes:
        tables: the defined tables, by kind (0 for DC, 1 for AC, 2 for quantisation) and number; None if one is invalid.
        transform: Adobe's colour transform marker.
        interval: blocks between restart markers.
    """

    frame: bytes = b""
    kind: int = 0
    tables: set[tuple[int, int]] | None = field(default_factory=set)
    exif: bool = False
    transform: int | None = None
    interval: int = 0

    def add(self, marker: int, segment: bytes) -> None:
        if marker in FRAMES:
            # A second frame is not allowed.
            self.frame, self.kind = (b"", 0) if self.frame else (segment, marker)
        elif marker in {HUFFMAN, QUANTISATION}:
            tables = _huffman_tables(segment) if marker == HUFFMAN else _quantisation_tables(segment)
            self.tables = None if tables is None or self.tables is None else self.tables | tables
        elif marker == APP1:
            self.exif = self.exif or segment.startswith(b"Exif\0")
        elif marker == APP14 and segment.startswith(b"Adobe") and len(segment) >= 12:
            self.transform = segment[11]
        elif marker == INTERVAL:
            self.interval = int.from_bytes(segment)


def jpeg_header(data: bytes) -> JpegHeader | None:
    """The header of a JPEG; None if the data is not a JPEG or is damaged before its first scan."""
    if data[:3] != b"\xff\xd8\xff":
        return None
    position, segments = 2, _Segments()
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF or marker in ALONE:
            position += 1 if marker == 0xFF else 2
            continue
        length = int.from_bytes(data[position + 2 : position + 4])
        segment = data[position + 4 : position + 2 + length]
        position += 2 + length
        if marker == START_OF_SCAN:
            return _header(data, position, segments, segment)
        segments.add(marker, segment)
    return None


def _header(data: bytes, start: int, segments: _Segments, scan: bytes) -> JpegHeader | None:
    frame = segments.frame
    if len(frame) < 6 or not frame[5] or len(frame) != 6 + 3 * frame[5]:
        return None
    components = frame[5]
    height, width = int.from_bytes(frame[1:3]), int.from_bytes(frame[3:5])
    if not (width and height):
        return None
    names, factors, quantisations = (frame[first::3] for first in (6, 7, 8))
    luma = (factors[0] >> 4, factors[0] & 15) if components > 1 else (1, 1)
    plain = (
        segments.kind == BASELINE
        and frame[0] == 8
        and components in (1, 3)
        and segments.transform != 0  # Adobe's marker for RGB
        and names != b"RGB"
        and luma in SAMPLINGS
        and factors[1:] == b"\x11" * (components - 1)
        and min(width, height) >= SMALLEST
        and segments.tables is not None
        and _wanted(scan, names, quantisations) <= segments.tables
        and _is_whole(data, start, _restarts(width, height, luma, segments.interval))
    )
    return JpegHeader((width, height), plain, luma, segments.exif)


def _wanted(scan: bytes, names: bytes, quantisations: bytes) -> set[tuple[int, int]]:
    """The tables used by one scan of all components; contains an undefined table if it is not such a scan."""
    components = len(names)
    if scan != bytes([components]) + scan[1 : 1 + 2 * components] + b"\0\x3f\0" or scan[1:-3:2] != names:
        return {(-1, -1)}
    used = scan[2:-3:2]
    return {(0, each >> 4) for each in used} | {(1, each & 15) for each in used} | {(2, each) for each in quantisations}


def _quantisation_tables(segment: bytes) -> set[tuple[int, int]] | None:
    """The 8-bit tables that a segment defines; None if it is damaged."""
    return None if len(segment) % 65 or max(segment[::65], default=9) > 3 else {(2, number) for number in segment[::65]}


def _huffman_tables(segment: bytes) -> set[tuple[int, int]] | None:
    """The tables that a segment defines; None if codes of these lengths cannot exist."""
    tables = set()
    while segment:
        name, lengths = segment[0], segment[1:17]
        symbols = segment[17 : 17 + sum(lengths)]
        # Kraft's inequality: a code of n bits uses 2⁻ⁿ of the code space, and the sum must not exceed 1.
        room = all(used < 1 << 16 for used in accumulate(each << 15 - n for n, each in enumerate(lengths)))
        if len(lengths) < 16 or len(symbols) < sum(lengths) or name & 0xEC or not room:
            return None
        if not name >> 4 and max(symbols, default=0) > 15:
            return None
        tables.add((name >> 4, name & 15))
        segment = segment[17 + sum(lengths) :]
    return tables


def _restarts(width: int, height: int, luma: tuple[int, int], interval: int) -> int:
    """Number of restart markers that a scan must contain."""
    across, down = -(-width // (8 * luma[0])), -(-height // (8 * luma[1]))
    return (across * down - 1) // interval if interval else 0


def _is_whole(data: bytes, start: int, restarts: int) -> bool:
    """Whether the scan from `start` contains this many restart markers, in order, and then ends."""
    for number, match in enumerate(MARKER.finditer(data, start)):
        if number == restarts:
            return match.group() == END
        if match.group()[1] != 0xD0 + number % 8:
            return False
    return False
