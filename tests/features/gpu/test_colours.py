"""RGB from planes: libjpeg's bytes, of all samplings and sizes; the kernel gives what PyTorch gives."""

import io

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from unseen.features.gpu.colours import Sampling, rgb

RNG = np.random.default_rng(0)


def jpeg(width: int, height: int, subsampling: int) -> bytes:
    """Strong colours with sharp and with smooth edges."""
    coarse = Image.fromarray(RNG.choice(np.array([0, 60, 255], np.uint8), (height // 5 + 1, width // 3 + 1, 3)))
    file = io.BytesIO()
    picture = coarse.resize((width, height), Image.Resampling.NEAREST if width % 2 else Image.Resampling.BICUBIC)
    picture.save(file, "JPEG", quality=int(RNG.integers(40, 100)), subsampling=subsampling)
    return file.getvalue()


def ycc(file: bytes, scale: int) -> NDArray[np.uint8]:
    """Luma and chroma as libjpeg has them; at half the size, chroma of half the size is as it is stored."""
    picture = Image.open(io.BytesIO(file))
    picture.draft("YCbCr", (picture.width // scale, picture.height // scale))
    return np.asarray(picture)


@pytest.mark.parametrize(("subsampling", "sampling"), [(0, (1, 1)), (2, (2, 2))])
def test_equal_to_libjpeg(subsampling: int, sampling: Sampling) -> None:
    sizes = [(5, 5), (16, 16), (17, 31), (40, 23), (33, 64), (128, 7)]
    files = [jpeg(*size, subsampling) for size in sizes]
    luma = torch.from_numpy(RNG.integers(0, 256, (len(files), 64, 128), dtype=np.uint8))
    chroma = torch.from_numpy(
        RNG.integers(0, 256, (len(files), 2, 64 // sampling[1], 128 // sampling[0]), dtype=np.uint8)
    )
    for file, y, c in zip(files, luma, chroma, strict=True):
        light, colour = ycc(file, 1)[..., 0], ycc(file, sampling[0])[..., 1:].transpose(2, 0, 1)
        y[: light.shape[0], : light.shape[1]] = torch.tensor(light)
        c[:, : colour.shape[1], : colour.shape[2]] = torch.tensor(colour)
    found = rgb(luma, chroma, sizes, sampling, torch.float32)
    assert found.shape == (len(files), 64, 3, 128)
    for (width, height), file, image in zip(sizes, files, found, strict=True):
        expected = np.asarray(Image.open(io.BytesIO(file)).convert("RGB")).transpose(0, 2, 1)
        assert np.array_equal(image[:height, :, :width].numpy(), expected), (width, height)


def test_half_the_width_by_hand() -> None:
    luma = torch.full((1, 1, 6), 100, dtype=torch.uint8)
    chroma = torch.tensor([[[[128, 128, 128]], [[100, 140, 128]]]], dtype=torch.uint8)
    # libjpeg: the first and the last as they are; (3·100 + 140 + 2) >> 2 = 110, (3·140 + 100 + 1) >> 2 = 130, …
    red = [100, 110, 130, 137, 131, 128]
    found = rgb(luma, chroma, [(6, 1)], (2, 1), torch.int32)[0, 0]
    assert found[0].tolist() == [100 + ((91881 * (value - 128) + 32768) >> 16) for value in red]
    assert found[1].tolist() == [100 + ((-46802 * (value - 128) + 32768) >> 16) for value in red]
    assert found[2].tolist() == [100] * 6


@pytest.mark.gpu
@pytest.mark.parametrize("sampling", [(1, 1), (2, 1), (2, 2)])
def test_the_kernel_gives_the_same(sampling: Sampling) -> None:
    def random(*shape: int) -> Tensor:
        return torch.from_numpy(RNG.integers(0, 256, shape, dtype=np.uint8))

    luma, chroma = random(3, 41, 777), random(3, 2, -(-41 // sampling[1]), -(-777 // sampling[0]))
    sizes = [(777, 41), (300, 40), (5, 33)]
    plain = rgb(luma, chroma, sizes, sampling, torch.float16)
    assert torch.equal(rgb(luma.cuda(), chroma.cuda(), sizes, sampling, torch.float16).cpu(), plain)
