"""What the header of a JPEG says, as far as it decides who may decode the file."""

from dataclasses import dataclass

ALONE = {0x01, *range(0xD0, 0xD8)}
"""Markers that nothing belongs to."""
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
START_OF_SCAN, APP1, APP14 = 0xDA, 0xE1, 0xEE
SEQUENTIAL = {0xC0, 0xC1}
END = b"\xff\xd9"


@dataclass(frozen=True)
class JpegHeader:
    """A header up to the first scan.

    Attributes:
        size: width and height.
        plain: 8 bits a sample in one sequential scan, grey or YCbCr, and not cut off: what every decoder takes, with
            the same colours but for rounding. CMYK, RGB, 12 bits, progressive and arithmetic coding are not.
        exif: there is an EXIF segment.
    """

    size: tuple[int, int]
    plain: bool
    exif: bool


def jpeg_header(data: bytes) -> JpegHeader | None:
    """The header of a JPEG; None for whatever is none or is damaged before its first scan."""
    if data[:3] != b"\xff\xd8\xff":
        return None
    position, frame, kind, exif, transform = 2, b"", 0, False, None
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF or marker in ALONE:
            position += 1 if marker == 0xFF else 2
            continue
        length = int.from_bytes(data[position + 2 : position + 4])
        segment = data[position + 4 : position + 2 + length]
        if marker == START_OF_SCAN:
            return _header(frame, kind, segment, exif, transform, data.find(END, position) >= 0)
        if marker in FRAMES:
            if frame:
                return None
            frame, kind = segment, marker
        elif marker == APP1:
            exif = exif or segment.startswith(b"Exif\0")
        elif marker == APP14 and segment.startswith(b"Adobe") and len(segment) >= 12:
            transform = segment[11]
        position += 2 + length
    return None


def _header(frame: bytes, kind: int, scan: bytes, exif: bool, transform: int | None, ends: bool) -> JpegHeader | None:
    if len(frame) < 6 or len(frame) < 6 + 3 * frame[5]:
        return None
    components = frame[5]
    height, width = int.from_bytes(frame[1:3]), int.from_bytes(frame[3:5])
    if not (width and height and components):
        return None
    names = frame[6 : 6 + 3 * components : 3]
    plain = (
        ends
        and kind in SEQUENTIAL
        and frame[0] == 8
        and components in (1, 3)
        and scan[:1] == bytes([components])  # all of them interleaved in one scan
        and transform != 0  # Adobe's mark of RGB
        and names != b"RGB"
    )
    return JpegHeader((width, height), plain, exif)
