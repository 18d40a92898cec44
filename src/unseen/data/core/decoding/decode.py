"""Decoding an image file into the square of pixels that a backbone receives.

The pixels are bit-identical to PIL's `Image.open(…).convert("RGB")` followed by torchvision's `Resize` (shortest side,
antialiased) and `CenterCrop` on PIL images, as in the ImageNet-CoG code. In particular:

- EXIF orientation is ignored unless requested.
- Transparency is dropped, not blended. CMYK is converted as in PIL. Of an animation, the first frame is used.
- There are two differences. 16-bit grey keeps its high byte, as PIL does for 16-bit colour; PIL clips grey at 255,
  which makes such images almost entirely white. And TIFF files are read as they are stored, like all other formats,
  where PIL always turns them by their orientation.

The format is determined from the content, not the file name. Damaged and truncated images are refused, never partly
decoded.
"""

import io
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.fast_pixels import is_resized_fast, jpeg_pixels, resized_fast
from unseen.data.core.decoding.filled import BLOCK, has_flat_corner, refuse_few_bytes, refuse_unfilled
from unseen.data.core.decoding.jpeg_header import JpegHeader, jpeg_header
from unseen.data.core.decoding.resampling import crop_start, resized_size
from unseen.data.core.decoding.size_limits import refuse_large, stored_size
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.image_files import FORMATS, MAX_PIXELS, Unread
from unseen.data.core.source import Image, ImageSource
from unseen.errors import UserError
from unseen.files import LFS, LFS_POINTER

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

TIFF = "TIFF"
OnError = Literal["fail", "report"]

USUAL_PIXELS = 80_000_000
"""Fewer than PIL warns of."""

_opening = threading.Lock()


@dataclass(frozen=True)
class Damaged:
    """An image that cannot be decoded, and the reason."""

    id: str
    reason: str


def read_pixels(
    source: ImageSource,
    number: int,
    transform: Transform,
    *,
    on_error: OnError = "fail",
    fast: bool = False,
    exif: bool = False,
) -> NDArray[np.uint8] | Damaged:
    """Read and decode one image of a source; an image that cannot be decoded raises an error or is returned as
    `Damaged`.

    A file that cannot be read at all is always an error: the storage is at fault, not the image.
    """
    image = source.read(number)
    try:
        return decode(image, transform, fast=fast, exif=exif)
    except UserError as error:
        damaged = Damaged(source.entries[number].id, str(error))
    if on_error == "fail":
        raise UserError(f"{damaged.id}: {damaged.reason}")
    return damaged


def decode(image: Image, transform: Transform, *, fast: bool = False, exif: bool = False) -> NDArray[np.uint8]:
    """Pixels (size, size, 3), always RGB; mean, std and channel order are applied later, on the device.

    Args:
        image: the bytes of a file, or pixels.
        fast: resize with PyTorch, and decode JPEGs with torchvision if it is installed. Some pixels then differ by 1 of
            255, a few by 2.
        exif: rotate the image according to its EXIF orientation.

    Raises:
        UserError: with the reason only, since the bytes have no name.
    """
    from PIL import Image as Pil

    try:
        picture = _open(image)
        stored = stored_size(picture)
        needed = resized_checked(stored, transform)
        fast = fast and is_resized_fast(stored, transform)
        if fast and isinstance(image, bytes) and not (exif and is_turned(picture)):
            pixels = jpeg_pixels(image, picture)
            if pixels is not None:
                if has_flat_corner(pixels):
                    refuse_unfilled(image, picture.format)
                return _centre(resized_fast(pixels, needed, transform), transform)
        picture = _loaded(image, picture, exif=exif)
        needed = needed if picture.size == stored else needed[::-1]
        picture = _rgb(picture)
        if fast:
            return _centre(resized_fast(np.array(picture), needed, transform), transform)
        if transform.resize is not None:
            picture = picture.resize(needed, Pil.Resampling[transform.interpolation.upper()])
        return _centre(np.asarray(picture), transform)
    except (UserError, MemoryError):  # MemoryError is a fault of the machine, not of the image
        raise
    except Exception as error:  # for damaged files, decoders may raise any exception
        raise UserError(f"damaged image ({str(error).rstrip('.') or type(error).__name__})") from None


def plain_jpeg(image: Image, transforms: Iterable[Transform], *, exif: bool = False) -> JpegHeader | None:
    """The header of a JPEG that a GPU may decode and that the transform accepts.

    None otherwise: `decode` then handles the image and reports what is wrong with it.
    """
    header = jpeg_header(image) if isinstance(image, bytes) and not isinstance(image, Unread) else None
    if header is None or not header.plain:
        return None
    try:
        for transform in transforms:
            resized_checked(header.size, transform)
        turned = exif and header.exif and is_turned(_open(image))
    except Exception:  # EXIF data may be damaged in any way
        return None
    return None if turned else header


def image_size(image: Image) -> tuple[int, int]:
    """Stored width and height of an image, read from its header; raises as `decode` does."""
    try:
        size = stored_size(_open(image))
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"damaged image ({str(error).rstrip('.') or type(error).__name__})") from None
    return size


def open_picture(image: bytes, where: str, *, exif: bool = False) -> "Picture":
    """A decoded picture in its stored mode; the error for a damaged one starts with `where`.

    Args:
        exif: turn the picture by its EXIF orientation.
    """
    try:
        picture = _open(image)
        return _loaded(image, picture, exif=exif)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except MemoryError:
        raise
    except Exception as error:  # for damaged files, decoders may raise any exception
        raise UserError(f"{where}: damaged image ({str(error).rstrip('.') or type(error).__name__})") from None


def orientation(image: Image) -> int:
    """The EXIF orientation by which `decode` turns an image, from 1 (not at all) to 8.

    Damaged EXIF data give 1; `decode` refuses such an image.
    """
    if isinstance(image, np.ndarray):
        return 1
    try:
        return _turn(_open(image))
    except Exception:  # EXIF data may be damaged in any way
        return 1


def whole_pixels(image: Image, where: str, *, exif: bool = False) -> NDArray[np.uint8]:
    """(h, w, 3) RGB pixels of an image at its original size; the error for a damaged one starts with `where`.

    Args:
        exif: turn the image by its EXIF orientation.
    """
    if isinstance(image, np.ndarray):
        return image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
    picture = open_picture(image, where, exif=exif)
    try:
        return np.array(_rgb(picture))
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def proportion(image: Image) -> float:
    """Stored width : height of an image, read from its header; raises as `decode` does."""
    width, height = image_size(image)
    return width / height


@contextmanager
def _without_limit() -> Iterator[None]:
    """Without PIL's limit of pixels and its warnings, while no other thread is."""
    from PIL import Image as Pil

    with _opening, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limit, Pil.MAX_IMAGE_PIXELS = Pil.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Pil.MAX_IMAGE_PIXELS = limit


def _open(image: Image) -> "Picture":
    """A picture whose header has been read.

    PIL's size limit (which first only warns) is replaced by ours, and its warnings about unused metadata are silenced.
    Both settings are global to the process, hence the lock.
    """
    from PIL import Image as Pil
    from PIL import UnidentifiedImageError

    if isinstance(image, np.ndarray):
        return Pil.fromarray(np.ascontiguousarray(image))
    if isinstance(image, Unread):
        raise UserError(image.reason)
    if not image:
        raise UserError("the file is empty")
    with _without_limit():
        try:
            picture = Pil.open(io.BytesIO(image), formats=FORMATS)
        except UnidentifiedImageError:
            if image.startswith(LFS.encode()):
                raise UserError(LFS_POINTER) from None
            start = image[:200].lstrip().lower()
            what = "a web page" if start.startswith((b"<!doctype html", b"<html", b"<?xml")) else "unknown content"
            raise UserError(f"not an image, but {what}") from None
    refuse_large(picture)
    refuse_few_bytes(image, picture)
    return picture


def resized_checked(size: tuple[int, int], transform: Transform) -> tuple[int, int]:
    """Width and height after resizing; a UserError if the image is too small or too large for the transform."""
    width, height = size
    if width * height > MAX_PIXELS:
        raise UserError(f"{width} × {height} pixels, more than the {MAX_PIXELS:,} that are decoded")
    width, height = resized_size(size, transform)
    if min(width, height) < transform.size:
        raise UserError(f"{width} × {height} pixels, smaller than the crop of {transform.size}")
    if width * height > MAX_PIXELS:
        raise UserError(f"{size[0]} × {size[1]} pixels, so narrow that it would become {width} × {height}")
    return width, height


def _rgb(picture: "Picture") -> "Picture":
    from PIL import Image as Pil

    if picture.mode == "RGB":
        return picture
    if picture.mode.startswith("I"):
        values: NDArray[Any] = np.asarray(picture)
        if values.min() < 0 or values.max() > 65_535:
            raise UserError("pixels of more than 16 bits; save it with 8 or 16")
        picture = Pil.fromarray((values >> 8).astype(np.uint8))
    elif picture.mode == "F":
        raise UserError("floating-point pixels of unknown range; save it with 8 or 16 bits")
    picture.info.pop("transparency", None)  # not needed for RGB, but causes a warning in some modes
    return picture.convert("RGB")


def _loaded(image: Image, picture: "Picture", *, exif: bool) -> "Picture":
    """A picture with its pixels, as they are stored or turned by its EXIF orientation."""
    from PIL import ImageOps

    turn = _turn(picture) if picture.format == TIFF else 1
    if picture.width * picture.height > USUAL_PIXELS:
        with _without_limit():  # PIL asks again when it loads a TIFF
            picture.load()
    else:
        picture.load()
    if isinstance(image, bytes) and has_flat_corner(_last_blocks(picture)):
        refuse_unfilled(image, picture.format)
    if turn == 1 or is_turned(picture):
        return ImageOps.exif_transpose(picture) if exif else picture
    return picture if exif else _turned_back(picture, turn)  # PIL has turned it


def _last_blocks(picture: "Picture") -> NDArray[np.uint8]:
    """The end of a picture, from the beginning of a block of a JPEG."""
    left, top = (max(0, (side - 1) // BLOCK * BLOCK) for side in picture.size)
    return np.asarray(picture.crop((left, top, *picture.size)))


def _turned_back(picture: "Picture", turn: int) -> "Picture":
    """A picture as it was before it was turned by an EXIF orientation."""
    from PIL.Image import Transpose

    opposite = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_90,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_270,
    }
    found = picture.transpose(opposite[turn])
    found.format = picture.format
    return found


def _turn(picture: "Picture") -> int:
    """The EXIF orientation by which a picture is still to be turned, from 1 to 8."""
    from PIL import ExifTags

    number = picture.getexif().get(ExifTags.Base.Orientation, 1)
    return number if number in range(1, 9) else 1


def is_turned(picture: "Picture") -> bool:
    return _turn(picture) != 1


def _centre(pixels: NDArray[np.uint8], transform: Transform) -> NDArray[np.uint8]:
    """A copy of the central square; its corner is rounded as in torchvision."""
    top, left = (crop_start(side, transform.size) for side in pixels.shape[:2])
    return pixels[top : top + transform.size, left : left + transform.size].copy()
