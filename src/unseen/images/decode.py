"""From the bytes of an image to the square of pixels that a backbone gets.

The pixels are those of PIL's `Image.open(…).convert("RGB")`, torchvision's `Resize` (shortest side, antialiased) and
`CenterCrop` on PIL images, bit for bit: this is what the ImageNet-CoG code does. In particular:

- EXIF orientation is not applied, unless asked for.
- Transparency is dropped, not blended. CMYK is converted as PIL does. Of an animation, the first frame is taken.
- The one difference: 16-bit grey keeps its high byte, as PIL does for 16-bit colour. PIL cuts grey off at 255 and so
  makes it almost all white.

What the content is decides, not what the file is called. Damaged and truncated images are refused, never half decoded.
"""

import io
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.images.fast_pixels import is_resized_fast, jpeg_pixels, resized_fast
from unseen.images.jpeg_header import JpegHeader, jpeg_header
from unseen.images.resampling import crop_start, resized_size
from unseen.images.source import Image, ImageSource
from unseen.images.transform import Transform

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_PIXELS = 200_000_000
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "JPEG2000")  # no EPS: PIL would run Ghostscript
OnError = Literal["fail", "report"]

_opening = threading.Lock()


@dataclass(frozen=True)
class Damaged:
    """An image that cannot be decoded, and why."""

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
    """Read and decode one image of a source; in its place, one that cannot be decoded is an error or is reported.

    A file that cannot be read at all is an error in either case: that is a fault of the place, not of the image.
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
    """Pixels (size, size, 3), always RGB: mean, std and order of channels are applied later, on the device.

    Args:
        image: the bytes of a file, or pixels.
        fast: resize by PyTorch, and decode JPEGs by torchvision where it is installed. Some pixels then differ by 1 of
            255, a few by 2.
        exif: turn the image as its EXIF orientation says.

    Raises:
        UserError: with the reason alone, as the bytes have no name.
    """
    from PIL import Image as Pil
    from PIL import ImageOps

    try:
        picture = _open(image)
        needed = resized_checked(picture.size, transform)
        fast = fast and is_resized_fast(picture.size, transform)
        if fast and isinstance(image, bytes) and not (exif and is_turned(picture)):
            pixels = jpeg_pixels(image, picture)
            if pixels is not None:
                return _centre(resized_fast(pixels, needed, transform), transform)
        picture.load()
        if exif:
            stored = picture.size
            picture = ImageOps.exif_transpose(picture)
            needed = needed if picture.size == stored else needed[::-1]
        picture = _rgb(picture)
        if fast:
            return _centre(resized_fast(np.array(picture), needed, transform), transform)
        if transform.resize is not None:
            picture = picture.resize(needed, Pil.Resampling[transform.interpolation.upper()])
        return _centre(np.asarray(picture), transform)
    except (UserError, MemoryError):  # the latter is a fault of the machine's, not of the image
        raise
    except Exception as error:  # damaged files make decoders raise anything at all
        raise UserError(f"damaged image ({str(error).rstrip('.') or type(error).__name__})") from None


def plain_jpeg(image: Image, transforms: Iterable[Transform], *, exif: bool = False) -> JpegHeader | None:
    """The header of a JPEG that a GPU may decode, and that any of the transforms takes.

    None for whatever else it is: `decode` then finds out, and says what is wrong with it.
    """
    header = jpeg_header(image) if isinstance(image, bytes) else None
    if header is None or not header.plain:
        return None
    try:
        for transform in transforms:
            resized_checked(header.size, transform)
        turned = exif and header.exif and is_turned(_open(image))
    except Exception:  # EXIF can be damaged in any way
        return None
    return None if turned else header


def image_size(image: Image) -> tuple[int, int]:
    """Width and height of an image as it is stored, from its header alone; raises as `decode` does."""
    try:
        size: tuple[int, int] = _open(image).size
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"damaged image ({str(error).rstrip('.') or type(error).__name__})") from None
    return size


def open_picture(image: bytes, where: str) -> "Picture":
    """A decoded picture in the mode that it is stored in; a damaged one is an error that begins with `where`."""
    try:
        picture = _open(image)
        width, height = picture.size
        if width * height > MAX_PIXELS:
            raise UserError(f"{width} × {height} pixels, more than the {MAX_PIXELS:,} that are decoded")
        picture.load()
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except MemoryError:
        raise
    except Exception as error:  # damaged files make decoders raise anything at all
        raise UserError(f"{where}: damaged image ({str(error).rstrip('.') or type(error).__name__})") from None
    return picture


def whole_pixels(image: Image, where: str) -> NDArray[np.uint8]:
    """(h, w, 3) RGB of a whole image at its own size; a damaged one is an error that begins with `where`."""
    if isinstance(image, np.ndarray):
        return image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
    picture = open_picture(image, where)
    try:
        return np.array(_rgb(picture))
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def proportion(image: Image) -> float:
    """Width : height of an image as it is stored, from its header alone; raises as `decode` does."""
    width, height = image_size(image)
    return width / height


def _open(image: Image) -> "Picture":
    """A picture of which the header was read.

    PIL's limit on sizes, which is a warning first, is put aside in favour of ours, and its warnings about metadata that
    are not used are silenced. Both belong to the process, hence one at a time.
    """
    from PIL import Image as Pil
    from PIL import UnidentifiedImageError

    if isinstance(image, np.ndarray):
        return Pil.fromarray(np.ascontiguousarray(image))
    if not image:
        raise UserError("the file is empty")
    with _opening, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limit, Pil.MAX_IMAGE_PIXELS = Pil.MAX_IMAGE_PIXELS, None
        try:
            return Pil.open(io.BytesIO(image), formats=FORMATS)
        except UnidentifiedImageError:
            start = image[:200].lstrip().lower()
            what = "a web page" if start.startswith((b"<!doctype html", b"<html", b"<?xml")) else "unknown content"
            raise UserError(f"not an image, but {what}") from None
        finally:
            Pil.MAX_IMAGE_PIXELS = limit


def resized_checked(size: tuple[int, int], transform: Transform) -> tuple[int, int]:
    """Width and height after resizing; a UserError where there are too few or too many pixels for the transform."""
    width, height = size
    if width * height > MAX_PIXELS:
        raise UserError(f"{width} × {height} pixels, more than the {MAX_PIXELS:,} that are decoded")
    width, height = resized_size(size, transform)
    if min(width, height) < transform.size:
        raise UserError(f"{width} × {height} pixels, smaller than the {transform.size} that are to be cut out of it")
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
        raise UserError("pixels that are fractions, whose range is not known; save it with 8 or 16 bits")
    picture.info.pop("transparency", None)  # of no use in RGB, but a warning in some modes
    return picture.convert("RGB")


def is_turned(picture: "Picture") -> bool:
    from PIL import ExifTags

    return bool(picture.getexif().get(ExifTags.Base.Orientation, 1) != 1)


def _centre(pixels: NDArray[np.uint8], transform: Transform) -> NDArray[np.uint8]:
    """A copy of the square in the middle, whose corner is rounded as torchvision does."""
    top, left = (crop_start(side, transform.size) for side in pixels.shape[:2])
    return pixels[top : top + transform.size, left : left + transform.size].copy()
