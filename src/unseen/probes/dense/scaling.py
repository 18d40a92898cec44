"""Images and maps at other sizes: given short side, bounded long side, padded to multiples of the network's patches."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.images.transform import Transform

MULTIPLE = 32


def scaled_size(size: tuple[int, int], side: int, longest: int) -> tuple[int, int]:
    """Height and width of an image whose short side becomes `side`, unless its long side would exceed `longest`."""
    height, width = size
    scale = min(side / min(size), longest / max(size))
    return max(1, round(height * scale)), max(1, round(width * scale))


def scaled_image(pixels: NDArray[np.uint8], size: tuple[int, int], transform: Transform) -> Tensor:
    """(3, h, w) resized by PIL's bilinear filter and normalised as the backbone expects."""
    from PIL import Image as Pil

    picture = Pil.fromarray(pixels).resize((size[1], size[0]), Pil.Resampling.BILINEAR)
    values = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
    if transform.channels == "BGR":
        values = values.flip(0)
    mean, std = (torch.tensor(of)[:, None, None] for of in (transform.mean, transform.std))
    return (values - mean) / std


def scaled_codes(codes: NDArray[np.int16], size: tuple[int, int]) -> NDArray[np.int16]:
    """Codes at another size, by the nearest pixels."""
    rows, columns = (
        ((np.arange(after) + 0.5) * before / after).astype(np.int64)
        for before, after in zip(codes.shape, size, strict=True)
    )
    scaled: NDArray[np.int16] = codes[rows[:, None], columns[None, :]]
    return scaled


def padded_batch(images: list[Tensor]) -> Tensor:
    """(b, 3, h, w) padded with zeros, h and w multiples of 32."""
    height, width = (-(-max(each.shape[axis] for each in images) // MULTIPLE) * MULTIPLE for axis in (1, 2))
    batch = torch.zeros(len(images), 3, height, width)
    for place, each in enumerate(images):
        batch[place, :, : each.shape[1], : each.shape[2]] = each
    return batch


def padded_codes(maps: list[NDArray[np.int16]], size: tuple[int, int], stride: int, fill: int) -> Tensor:
    """(b, h/stride, w/stride) codes of images in the padded batch, from every `stride`-th pixel."""
    padded = torch.full((len(maps), size[0] // stride, size[1] // stride), fill, dtype=torch.long)
    for place, codes in enumerate(maps):
        height, width = (-(-side // stride) for side in codes.shape)
        thinned = scaled_codes(codes, (height, width))
        padded[place, :height, :width] = torch.from_numpy(thinned.astype(np.int64))
    return padded
