"""Images in memory."""

import pickle

import numpy as np
import pytest

from unseen.data.core.arrays import array_images
from unseen.errors import UserError


@pytest.mark.parametrize("shape", [(3, 5, 4), (3, 5, 4, 3)])
def test_pixels_and_classes(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    source = array_images(pixels, np.array([2, 0, 2]))
    assert [(entry.id, entry.label) for entry in source.entries] == [
        ("00000000", "2"), ("00000001", "0"), ("00000002", "2"),
    ]  # fmt: skip
    again = pickle.loads(pickle.dumps(source))
    assert np.array_equal(again.read(1), pixels[1])
    assert [entry.id for entry in array_images(pixels, ["a"] * 3, ids=["x", "y", "z"]).entries] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("pixels", "labels", "reason"),
    [
        (np.zeros((2, 4, 4), np.float32), [0, 1], r"must be uint8 .* not float32 \(2, 4, 4\)"),
        (np.zeros((2, 3, 4, 4), np.uint8), [0, 1], "must be uint8 of shape"),
        (np.zeros((0, 4, 4), np.uint8), [], "must be uint8 of shape"),
        (np.zeros((2, 4, 4), np.uint8), [0], "2 images but 1 labels"),
    ],
)
def test_other_arrays_are_refused(pixels: np.ndarray, labels: list[int], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        array_images(pixels, labels)
    with pytest.raises(UserError, match="x occurs twice"):
        array_images(np.zeros((2, 4, 4), np.uint8), [0, 1], ids=["x", "x"])
