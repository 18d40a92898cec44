"""Limits of the pixels that are decoded, so that every format takes about the same memory at most."""

from typing import TYPE_CHECKING

from unseen.data.core.image_files import MAX_PIXELS
from unseen.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MOST = {"WEBP": MAX_PIXELS // 4, "JPEG2000": MAX_PIXELS // 4}
"""Their decoders take 16 and 19 bytes per pixel, others 4 to 7."""
TILE = 1 << 22
"""Pixels of a tile that a TIFF of any size may have; a larger one has up to four times those of the image."""


def refuse_large(picture: "Picture") -> None:
    """Refuse a picture, before it is decoded, with more pixels than are decoded of its format."""
    from PIL.TiffImagePlugin import TILELENGTH, TILEWIDTH, TiffImageFile

    width, height = stored_size(picture)
    most = MOST.get(picture.format or "", MAX_PIXELS)
    if width * height > most:
        format_ = f" of {picture.format}, where PNG has up to {MAX_PIXELS:,}" if most < MAX_PIXELS else ""
        raise UserError(f"{width} × {height} pixels, more than the {most:,} that are decoded{format_}")
    if isinstance(picture, TiffImageFile):
        tile = int(picture.tag_v2.get(TILEWIDTH, 0)) * int(picture.tag_v2.get(TILELENGTH, 0))
        if tile > max(TILE, 4 * width * height):
            raise UserError(f"tiles of {tile:,} pixels in an image of {width} × {height}; save it with smaller tiles")


def stored_size(picture: "Picture") -> tuple[int, int]:
    """Stored width and height of a picture that is not loaded; PIL may give those of a TIFF as it will turn it."""
    from PIL import ExifTags
    from PIL.TiffImagePlugin import TiffImageFile

    if not isinstance(picture, TiffImageFile):
        return picture.size
    width, height = (picture.tag_v2[tag] for tag in (ExifTags.Base.ImageWidth, ExifTags.Base.ImageLength))
    return int(width), int(height)
