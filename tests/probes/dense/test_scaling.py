"""Images and maps at other sizes."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from unseen.data.core.decoding.transform import Transform
from unseen.probes.dense.scaling import (
    detector_image,
    padded_batch,
    padded_codes,
    scaled_codes,
    scaled_image,
    scaled_size,
)


@examples(50)
@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(32, 800))
def test_the_short_side_is_given_and_the_long_side_bounded(height: int, width: int, side: int) -> None:
    found = scaled_size((height, width), side, 1000)
    assert max(found) <= 1000
    assert min(found) <= side
    assert min(found) == side or max(found) == 1000


def test_codes_of_the_nearest_pixels() -> None:
    codes = np.array([[1, 2], [3, 4]], dtype=np.int16)
    assert scaled_codes(codes, (4, 4)).tolist() == np.kron(codes, np.ones((2, 2), dtype=int)).tolist()
    assert scaled_codes(np.kron(codes, np.ones((3, 3), dtype=np.int16)), (2, 2)).tolist() == codes.tolist()


def test_batches_are_padded_to_multiples_of_32() -> None:
    batch = padded_batch([torch.ones(3, 40, 30), torch.ones(3, 20, 50)])
    assert batch.shape == (2, 3, 64, 64)
    assert batch[0].sum() == 3 * 40 * 30
    codes = padded_codes([np.ones((40, 30), dtype=np.int16)] * 2, (64, 64), 8, -1)
    assert codes.shape == (2, 8, 8)
    assert (codes[0] == 1).sum() == 5 * 4


@pytest.mark.parametrize("stride", [1, 4, 8])
@pytest.mark.parametrize("shape", [(450, 601), (37, 90), (96, 33), (1, 5)])
def test_codes_are_padded_before_they_are_thinned(stride: int, shape: tuple[int, int]) -> None:
    """As in the public code: the map is pasted into a picture of the padded size, which PIL makes smaller."""
    codes = np.random.default_rng(0).integers(0, 200, shape).astype(np.int16)
    size = (-(-shape[0] // 32) * 32, -(-shape[1] // 32) * 32)
    whole = Image.new("I", size[::-1], -1)
    whole.paste(Image.fromarray(codes.astype(np.int32)), (0, 0))
    expected = np.array(whole.resize((size[1] // stride, size[0] // stride), Image.Resampling.NEAREST))
    assert np.array_equal(padded_codes([codes], size, stride, -1)[0].numpy(), expected)


def test_images_are_normalised_in_the_order_of_channels() -> None:
    pixels = np.zeros((4, 4, 3), dtype=np.uint8)
    pixels[..., 0] = 255
    plain = Transform(size=4, resize=4, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 0.5))
    assert scaled_image(pixels, (2, 2), plain)[:, 0, 0].tolist() == [1, 0, 0]
    turned = Transform(size=4, resize=4, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 0.5), channels="BGR")
    assert scaled_image(pixels, (2, 2), turned)[:, 0, 0].tolist() == [0, 0, 2]
    assert [detector_image(pixels, each)[:, 0, 0].tolist() for each in (plain, turned)] == [[1, 0, 0], [0, 0, 1]]
