"""Random parts of images against PIL's and torchvision's functions."""

from math import log

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import RandomResizedCrop

from unseen.errors import UserError
from unseen.probes.finetuning.augment import LARGE, augmented, crops, random_boxes

SQUARE = torch.ones(8)


def pictures(count: int, side: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (count, side, side, 3), generator=torch.Generator().manual_seed(seed)).byte()


def test_parts_are_cut_and_resized_as_by_pil() -> None:
    pixels = pictures(7, 32)
    boxes = [
        [0, 0, 32, 32],
        [3, 5, 20, 11],
        [31, 31, 1, 1],
        [0, 2, 9, 30],
        [10, 0, 22, 22],
        [7, 7, 5, 24],
        [8, 4, 8, 8],
    ]
    mirrored = torch.tensor([False, True, False, True, True, False, False])
    for size in (8, 24, 50):
        found = crops(pixels, torch.tensor(boxes), mirrored, size)
        for image, (top, left, height, width), flip, mine in zip(pixels, boxes, mirrored, found, strict=True):
            part = Image.fromarray(image.numpy()).crop((left, top, left + width, top + height))
            part = part.resize((size, size), Image.Resampling.BICUBIC)
            if flip:
                part = part.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            different = np.abs(np.asarray(part, dtype=int) - mine.numpy())
            assert different.max() <= 2  # the order of the sides, between which PIL rounds, is its own
            assert different.mean() < 0.2


def test_a_part_of_a_squashed_image_is_that_of_the_image() -> None:
    """On a smooth image, where squashing loses nothing, both ways give the same part."""
    width, height, side, size = 96, 48, 64, 24
    y, x = np.mgrid[:height, :width]
    smooth = np.stack([2 * x, 3 * y, x + y], axis=2).astype(np.uint8)
    squashed = np.asarray(Image.fromarray(smooth).resize((side, side), Image.Resampling.BICUBIC))
    top, left, tall, wide = 6, 30, 24, 40
    part = (
        Image.fromarray(smooth)
        .crop((left, top, left + wide, top + tall))
        .resize((size, size), Image.Resampling.BICUBIC)
    )
    box = torch.tensor([[top / height, left / width, tall / height, wide / width]]) * side
    found = crops(torch.from_numpy(squashed.copy())[None], box, torch.tensor([False]), size)[0].numpy()
    inner = (slice(2, -2), slice(2, -2))  # at its edges a part sees nothing beyond
    assert np.abs(np.asarray(part, dtype=int) - found)[inner].max() <= 2


@pytest.mark.parametrize(("width", "height"), [(400, 400), (500, 375), (300, 700), (2000, 300)])
def test_boxes_are_spread_as_torchvisions(width: int, height: int) -> None:
    count = 4000
    boxes = random_boxes(torch.full((count,), width / height), torch.Generator().manual_seed(0))
    assert float(boxes.min()) >= 0
    assert float((boxes[:, :2] + boxes[:, 2:]).max()) <= 1 + 1e-6
    image = torch.empty(3, height, width)
    torch.manual_seed(0)
    theirs = torch.tensor([RandomResizedCrop.get_params(image, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(count)])
    theirs = theirs / torch.tensor([height, width, height, width])
    for mine, other in zip(boxes.T, theirs.T, strict=True):
        quantiles = torch.linspace(0.02, 0.98, 25)
        assert float((mine.quantile(quantiles) - other.quantile(quantiles)).abs().max()) < 0.04
    ratio = (boxes[:, 3] * width / (boxes[:, 2] * height)).log()
    assert float(ratio.abs().max()) < log(4 / 3) + 1e-4


def test_the_same_generator_gives_the_same_and_another_another() -> None:
    pixels = pictures(8, 20)
    one, same, other = (augmented(pixels, SQUARE, 16, "crop+flip", torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.shape == (8, 16, 16, 3)
    assert one.dtype == torch.uint8


def test_the_centre_is_that_of_the_tests() -> None:
    pixels = pictures(2, 21)
    expected = np.asarray(pixels)[:, 2:18, 2:18]  # round(2.5) is 2, as in `CenterCrop`
    assert np.array_equal(augmented(pixels, SQUARE[:2], 16, "centre", torch.Generator()), expected)


def test_nonsense_is_refused() -> None:
    with pytest.raises(UserError, match="squares of at least 16"):
        augmented(pictures(1, 12), SQUARE[:1], 16, "centre", torch.Generator())
    with pytest.raises(UserError, match="no augmentation 'mixup'; there are crop"):
        augmented(pictures(1, 20), SQUARE[:1], 16, "mixup", torch.Generator())  # type: ignore[arg-type]


@pytest.mark.gpu
def test_on_a_gpu_parts_are_the_same() -> None:
    pixels, proportions = pictures(16, 48), torch.linspace(0.5, 2.0, 16)
    here, there = (
        augmented(place, proportions, 32, "crop+flip", torch.Generator().manual_seed(3))
        for place in (pixels, pixels.cuda())
    )
    assert there.is_cuda
    different = (here.int() - there.cpu().int()).abs()
    assert int(different.max()) <= 1  # sums in another order round otherwise
    assert float((different > 0).float().mean()) < 0.01


def test_large_crops_are_of_nine_tenths_and_not_mirrored() -> None:
    ramp = torch.arange(40, dtype=torch.uint8).mul(6).expand(1, 40, 40).unsqueeze(-1).expand(16, 40, 40, 3)
    found = augmented(ramp, torch.ones(16), 32, "large-crop", torch.Generator().manual_seed(0))
    assert bool((found[:, 16, 1:, 0] >= found[:, 16, :-1, 0]).all())  # none runs from right to left
    boxes = random_boxes(torch.ones(500), torch.Generator().manual_seed(0), LARGE)
    assert float((boxes[:, 2] * boxes[:, 3]).min()) >= 0.9 - 1e-6
