"""Resizing by matrix products: PIL's bytes, bit for bit."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.resampling import SUPPORTS, taps
from unseen.data.core.decoding.transform import Interpolation, Transform
from unseen.features.gpu.device_resize import exact_dtype, resized_squares, together

pytestmark = pytest.mark.gpu_too
RNG = np.random.default_rng(0)
HARD = np.array([0, 255, 255, 17, 200], dtype=np.uint8)
"""Values whose edges overshoot, and round in all ways."""


def noise(width: int, height: int, rng: np.random.Generator = RNG) -> NDArray[np.uint8]:
    return rng.choice(HARD, (height, width, 3))


def squares(images: list[NDArray[np.uint8]], transform: Transform) -> NDArray[np.uint8]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = [(image.shape[1], image.shape[0]) for image in images]
    out = np.empty((len(images), transform.size, transform.size, 3), np.uint8)
    for group in together(sizes):
        width, height = (max(sizes[number][side] for number in group) for side in (0, 1))
        block = torch.full((len(group), height, 3, width), 99, dtype=exact_dtype(device))
        for row, number in enumerate(group):
            image = images[number]
            block[row, : image.shape[0], :, : image.shape[1]] = torch.from_numpy(image).transpose(1, 2)
        out[group] = resized_squares(block.to(device), [sizes[number] for number in group], transform).cpu().numpy()
    return out


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize(
    ("size", "resize", "squash"), [(224, 256, False), (31, 33, False), (96, 96, True), (7, 7, False), (40, None, False)]
)
def test_equal_to_pil(size: int, resize: int | None, squash: bool, interpolation: Interpolation) -> None:
    transform = Transform(size=size, resize=resize, squash=squash, interpolation=interpolation)
    # Landscape and portrait, larger and smaller, narrow ones, and one that PIL resizes by its columns first.
    sides = [(50, 37), (37, 50), (375, 500), (500, 333), (41, 40), (40, 130), (300, 40), (64, 64), (45, 210)]
    images = [noise(*each) for each in sides if resize is not None or min(each) >= size]
    assert np.array_equal(squares(images, transform), [decode(image, transform) for image in images])


@examples(60)
@given(
    sides=st.lists(st.tuples(st.integers(1, 90), st.integers(1, 90)), min_size=1, max_size=4),
    resize=st.integers(1, 80),
    cut=st.floats(0.3, 1.0),
    squash=st.booleans(),
    interpolation=st.sampled_from(["bilinear", "bicubic", "lanczos"]),
    seed=st.integers(0, 1000),
)
def test_equal_to_pil_for_any_sizes(
    sides: list[tuple[int, int]], resize: int, cut: float, squash: bool, interpolation: Interpolation, seed: int
) -> None:
    transform = Transform(size=max(1, int(cut * resize)), resize=resize, squash=squash, interpolation=interpolation)
    images = [noise(*each, np.random.default_rng(seed)) for each in sides]
    assert np.array_equal(squares(images, transform), [decode(image, transform) for image in images])


def test_reductions_with_more_neighbours_than_sums_are_exact_for() -> None:
    transform = Transform(size=8, resize=8)
    images = [noise(800, 700), np.full((900, 1200, 3), 255, np.uint8)]
    gap = squares(images, transform).astype(int) - [decode(image, transform) for image in images]
    assert np.abs(gap).max() <= 1


@pytest.mark.parametrize("interpolation", [*SUPPORTS])
def test_weights_add_up_to_one(interpolation: Interpolation) -> None:
    found = taps(100, 37, 5, 30, interpolation)
    assert found.weights.shape[0] == len(found.first) == 30
    assert np.abs(found.weights.sum(axis=1) - (1 << 22)).max() <= found.weights.shape[1]  # each is rounded


@pytest.mark.parametrize("interpolation", [*SUPPORTS])
def test_an_image_of_the_size_that_is_wanted_stays_as_it_is(interpolation: Interpolation) -> None:
    kept = taps(37, 37, 0, 37, interpolation)
    dense = np.zeros((37, 37 + kept.weights.shape[1]), np.int64)
    for row, (first, weights) in enumerate(zip(kept.first, kept.weights, strict=True)):
        dense[row, first : first + len(weights)] = weights
    assert np.array_equal(dense[:, :37], (1 << 22) * np.eye(37))


def test_images_are_together_where_little_is_wasted() -> None:
    sizes = [(500, 375), (375, 500), (500, 333), (3000, 2000), (500, 375), (60, 40)]
    assert together(sizes) == [[5], [1, 2, 0, 4], [3]]
    found = together([(side, 9 * side) for side in range(1, 40)])
    assert sorted(number for group in found for number in group) == [*range(39)]
