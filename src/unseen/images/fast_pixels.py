"""Decoding and resizing in half the time, at the price of pixels that are not quite PIL's.

PIL takes twice as long to resize a photograph of 500 × 375 pixels as to decode it. PyTorch resizes bytes with vector
instructions and weights of 16 bits where PIL has 32, and that is the whole difference: one grey level at some pixels,
two at a few. To decode at a fraction of the size as well, as libjpeg can, was tried and left out: it gained a fifth for
photographs of six times the size that is needed, nothing for those of three times, and added to the difference.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from unseen.images.transform import Transform

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from torch import Tensor


def is_resized_fast(size: tuple[int, int], transform: Transform) -> bool:
    """Whether PyTorch resizes an image of this width and height almost as PIL does; the others are left to PIL.

    PyTorch lacks some interpolations. And where an image is more than twice as long as wide, or its proportions change,
    its bicubic pixels were found to be off by up to 30 of 255 on black and white noise, which they never are otherwise.
    """
    if transform.resize is None or transform.squash or transform.interpolation not in ("bicubic", "bilinear"):
        return False
    return max(size) <= 2 * min(size)


def resized_fast(pixels: NDArray[np.uint8], size: tuple[int, int], transform: Transform) -> NDArray[np.uint8]:
    """Pixels (h, w, 3), antialiased as PIL does it, to a width and height."""
    import torch

    # In this order PyTorch knows that channels are last in memory, and leaves them so: what follows copies rows.
    image = torch.from_numpy(pixels).unsqueeze(0).permute(0, 3, 1, 2)
    width, height = size
    mode = transform.interpolation
    resized = torch.nn.functional.interpolate(image, (height, width), mode=mode, antialias=True)
    return cast("NDArray[np.uint8]", resized[0].permute(1, 2, 0).numpy())


def jpeg_pixels(file: bytes, picture: "Picture") -> NDArray[np.uint8] | None:
    """Pixels (h, w, 3) of a JPEG in colour or grey by torchvision, if it is installed: PIL's, without copies.

    None says that PIL is to decode the file: it takes a few more, and says what is wrong with the rest. libjpeg-turbo
    does the work in both, and both refuse a file that ends early.

    Args:
        picture: the same file, of which PIL read the header.
    """
    import torch

    decoder = _torchvision_decoder()
    if decoder is None or picture.format not in ("JPEG", "MPO") or picture.mode not in ("RGB", "L"):
        return None
    try:
        pixels = decoder(torch.frombuffer(bytearray(file), dtype=torch.uint8))
    except RuntimeError:
        return None
    return cast("NDArray[np.uint8]", pixels.permute(1, 2, 0).numpy())


@cache
def _torchvision_decoder() -> "Callable[[Tensor], Tensor] | None":
    """The operator itself, as torchvision 0.29 warns of its function at every call; None where there is none."""
    import torch

    try:
        from torchvision.io import ImageReadMode

        operator: Any = torch.ops.image.decode_jpeg
    except (ImportError, AttributeError):
        return None
    return lambda encoded: operator(encoded, ImageReadMode.RGB.value, False)
