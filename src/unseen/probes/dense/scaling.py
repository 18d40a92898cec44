"""Images and maps at other sizes: given short side, bounded long side, padded to multiples of the network's patches."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.data.core.decoding.transform import Transform

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
    values = detector_image(np.array(picture), transform)
    mean, std = (torch.tensor(of)[:, None, None] for of in (transform.mean, transform.std))
    return (values - mean) / std


def detector_image(pixels: NDArray[np.uint8], transform: Transform) -> Tensor:
    """(3, h, w) in 0 … 1, in the order of channels that the backbone expects; detectors resize and normalise it."""
    values = torch.from_numpy(pixels).permute(2, 0, 1).float() / 255
    return values.flip(0) if transform.channels == "BGR" else values


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
    """(b, h/stride, w/stride) codes of images in the padded batch: those at the centres of cells of `stride` pixels.

    Maps are padded first, as images are, so that a cell covers the same pixels as the network's output there.
    """
    padded = torch.full((len(maps), *size), fill, dtype=torch.long)
    for place, codes in enumerate(maps):
        padded[place, : codes.shape[0], : codes.shape[1]] = torch.from_numpy(codes.astype(np.int64))
    return padded[:, stride // 2 :: stride, stride // 2 :: stride].contiguous()
