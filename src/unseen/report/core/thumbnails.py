"""Small pictures of images of a source, as JPEG."""

from collections.abc import Collection
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import ImageSource
from unseen.errors import UserError

THUMBNAIL = Transform(size=96, resize=96)
"""The middle of an image."""
WHOLE = Transform(size=96, resize=96, squash=True)
"""The whole image, made square."""


def thumbnails(
    source: ImageSource, ids: Collection[str], what: str, transform: Transform = THUMBNAIL
) -> dict[str, NDArray[np.uint8]]:
    """The pixels of some images by id; one that a source lacks is an error, a damaged one is left out.

    Args:
        what: name of the source in errors.
    """
    wanted, found = set(ids), {}
    for number, entry in enumerate(source.entries) if wanted else ():
        if entry.id in wanted:
            wanted.discard(entry.id)
            try:
                found[entry.id] = decode(source.read(number), transform, fast=True)
            except UserError:
                continue
    if wanted:
        raise UserError(f"{min(wanted)}: not among the images of {what} ({len(wanted):,} are not)")
    return found


def jpeg(pixels: NDArray[np.uint8]) -> bytes:
    """A picture as a JPEG file."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
