"""Whether the data of a JPEG fill the pixels of its header.

Where data end before the pixels do, libjpeg continues the last colour in silence, so that a header of a few bytes can
claim any size. Two tests tell such a file: every block of 8 × 8 pixels takes at least one bit, and what a decoder finds
behind the data must not matter. The second is made only where the last pixels are of one colour, as invented ones are.
"""

import io
import random
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.jpeg_header import ALONE, FRAMES, START_OF_SCAN
from unseen.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

CORNER = 4
"""Most pixels along a side of the last corner."""
BLOCK = 8
"""Pixels along a side of a block, whose mean is all that is compared."""
JPEGS = ("JPEG", "MPO")
END = 0xD9
HUFFMAN_FRAMES = {0xC0, 0xC1, 0xC2}
"""Baseline, extended and progressive; data of arithmetic codes may end early."""
MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
RESTART = re.compile(rb"\xff[\xd0-\xd7]")
MORE = bytes(random.Random(0).choices(range(255), k=256))
"""Data that would be decoded if any were missing."""
UNFILLED = "damaged image (its header has more pixels than its data)"


def refuse_few_bytes(file: bytes, picture: "Picture") -> None:
    """Refuse a JPEG that has less than a bit for each block of its pixels, before any are decoded."""
    few = len(file) * 8 * BLOCK**2 < picture.width * picture.height
    if few and picture.format in JPEGS and _with_more(file) is not None:
        raise UserError(UNFILLED)


def refuse_unfilled(file: bytes, format_: str | None) -> None:
    """Refuse a JPEG that is not filled; to be asked where it `has_flat_corner`."""
    if format_ in JPEGS and not is_filled(file):
        raise UserError(UNFILLED)


def is_filled(file: bytes) -> bool:
    """Whether the pixels of a JPEG do not change with data behind its own."""
    more = _with_more(file)
    return more is None or _reduced(file) == _reduced(more)


def last_corner(*size: int) -> list[int]:
    """Pixels along each side of the last corner: only of the last block, and without the first ones, which may have
    colours of the block before; a single pixel, which is always of one colour, if there are no others.
    """
    sides = [min(CORNER, (side - 1) % BLOCK) for side in size]
    return sides if all(sides) else [1] * len(sides)


def has_flat_corner(pixels: NDArray[np.uint8]) -> bool:
    """Whether the last pixels of an image (h, w) or (h, w, channels) are of one colour."""
    lines, columns = last_corner(*pixels.shape[:2])
    corner = pixels[-lines:, -columns:]
    return bool((corner == corner[-1, -1]).all())


def _with_more(file: bytes) -> bytes | None:
    """A file with further data behind those of each scan, which a decoder skips if the scan is whole.

    None for other codes than Huffman's, and for damaged files.
    """
    parts, position, huffman = [file[:2]], 2, False
    while position + 4 <= len(file) and file[position] == 0xFF:
        marker = file[position + 1]
        if marker in {END, 0xFF, *ALONE}:
            parts.append(file[position : position + (1 if marker == 0xFF else 2)])
            position += len(parts[-1])
            if marker == END:
                break
            continue
        if marker in FRAMES:
            huffman = marker in HUFFMAN_FRAMES
        start, position = position, position + 2 + int.from_bytes(file[position + 2 : position + 4])
        if marker == START_OF_SCAN:
            after = MARKER.search(file, position)
            position = after.start() if after else len(file)
            restarts = sum(1 for _ in RESTART.finditer(file, start, position))
            parts += [file[start:position], MORE, bytes([0xFF, 0xD0 + restarts % 8]), MORE]
        else:
            parts.append(file[start:position])
    return b"".join([*parts, file[position:]]) if huffman else None


def _reduced(file: bytes) -> bytes | None:
    """The mean colours of all blocks; None if there are none."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(file), formats=("JPEG",)) as picture:
            picture.draft(None, (max(1, picture.width // BLOCK), max(1, picture.height // BLOCK)))
            return picture.tobytes()
    except Exception:  # for damaged files, decoders may raise any exception
        return None
