"""Random parts of images against torchvision's functions."""

from math import log

import numpy as np
import pytest
import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2.functional import horizontal_flip, resized_crop

from unseen.errors import UserError
from unseen.probes.augment import augmented, crops, random_boxes


def pictures(count: int, side: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (count, side, side, 3), generator=torch.Generator().manual_seed(seed)).byte()


def test_crops_are_torchvisions() -> None:
    pixels = pictures(6, 32)
    boxes = torch.tensor(
        [[0, 0, 32, 32], [3, 5, 20, 11], [31, 31, 1, 1], [0, 2, 9, 30], [10, 0, 22, 22], [7, 7, 5, 24]]
    )
    mirrored = torch.tensor([False, True, False, True, True, False])
    found = crops(pixels, boxes, mirrored, 24)
    for image, box, flip, mine in zip(pixels, boxes.tolist(), mirrored.tolist(), found, strict=True):
        expected = resized_crop(
            image.permute(2, 0, 1).float(), *box, [24, 24], InterpolationMode.BILINEAR, antialias=False
        )
        expected = (horizontal_flip(expected) if flip else expected).permute(1, 2, 0)
        assert float((expected - mine).abs().max()) <= 0.5 + 1e-3  # rounded


def test_boxes_are_within_the_square_and_spread_as_asked() -> None:
    side = 256
    top, left, height, width = random_boxes(4000, side, torch.Generator().manual_seed(0)).T
    assert int(torch.minimum(height, width).min()) > 0
    assert int(top.min()) >= 0
    assert int((top + height).max()) <= side
    assert int((left + width).max()) <= side
    share, ratio = height * width / side**2, (width / height).log()
    assert 0.075 < float(share.min()) < 0.1
    assert float(share.max()) <= 1
    assert float(ratio.abs().max()) < log(4 / 3) + 0.02
    assert abs(float(ratio.mean())) < 0.02
    # A draw that fits is uniform in its area up to the share that every proportion fits, 3/4.
    small = share[share < 0.7].sort().values
    assert float((small - torch.linspace(0.08, 0.7, len(small))).abs().max()) < 0.03


def test_the_same_generator_gives_the_same_and_another_another() -> None:
    pixels = pictures(8, 20)
    one, same, other = (augmented(pixels, 16, "crop+flip", torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.shape == (8, 16, 16, 3)
    assert one.dtype == torch.uint8


def test_the_centre_is_that_of_the_tests() -> None:
    pixels = pictures(2, 21)
    expected = np.asarray(pixels)[:, 2:18, 2:18]  # round(2.5) is 2, as in `CenterCrop`
    assert np.array_equal(augmented(pixels, 16, "centre", torch.Generator()), expected)


def test_nonsense_is_refused() -> None:
    with pytest.raises(UserError, match="squares of at least 16"):
        augmented(pictures(1, 12), 16, "centre", torch.Generator())
    with pytest.raises(UserError, match="no augmentation 'mixup'; there are crop"):
        augmented(pictures(1, 20), 16, "mixup", torch.Generator())
