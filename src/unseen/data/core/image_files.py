"""The bytes of image files, of which no more are read than the pixels in their headers need."""

import io
import os
import warnings
from collections.abc import Callable
from pathlib import Path

from unseen.errors import UserError
from unseen.files import byte_size, refuse_special

USUAL = 1 << 26
"""Bytes of an image file that are read whatever is in it, with metadata that need no pixels."""
BYTES_A_PIXEL = 8
"""Those of four channels of 16 bits, stored without compression."""
MAX_PIXELS = 200_000_000
"""Pixels of the largest image that is decoded."""
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "JPEG2000")  # no EPS: PIL would run Ghostscript


class Unread(bytes):
    """The beginning of an image that is not read, so that it can be reported like one that is damaged.

    Attributes:
        reason: why it is not read.
    """

    reason: str

    @classmethod
    def because(cls, reason: str, start: bytes) -> "Unread":
        unread = cls(start)
        unread.reason = reason
        return unread


def image_bytes(path: Path) -> bytes:
    """The contents of a regular file with an image; see `bounded_image`."""
    refuse_special(path)
    try:
        with path.open("rb") as file:

            def read(start: int, count: int) -> bytes:
                file.seek(start)
                return file.read(count)

            return bounded_image(os.fstat(file.fileno()).st_size, read)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None


def bounded_image(size: int, read: Callable[[int, int], bytes]) -> bytes:
    """The bytes of an image, or `Unread` if it has far more bytes than its pixels need.

    Args:
        size: the bytes that it has.
        read: gives the bytes from a start, as many as asked for.
    """
    if size <= USUAL:
        return read(0, size)
    start = read(0, USUAL)
    most, what = _most(start)
    if size > most:
        reason = f"{byte_size(size)}, but {what} has at most {byte_size(most)}; save the image again"
        return Unread.because(reason, start[: 1 << 16])
    return read(0, size)


def _most(start: bytes) -> tuple[int, str]:
    """The most bytes that are read of an image with this beginning, and what it is."""
    from PIL import Image

    if start.startswith((b"II", b"MM")):  # the header of a TIFF may be at its end
        return MAX_PIXELS * BYTES_A_PIXEL + USUAL, "a TIFF file that is decoded"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            width, height = Image.open(io.BytesIO(start), formats=FORMATS).size
    except Exception:  # for damaged files, decoders may raise any exception
        return USUAL, "a file whose beginning is not an image"
    return width * height * BYTES_A_PIXEL + USUAL, f"an image of {width} × {height} pixels"
