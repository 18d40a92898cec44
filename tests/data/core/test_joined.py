"""Several places of images as one."""

import pickle

import numpy as np
import pytest

from unseen.data.core.arrays import array_images
from unseen.data.core.joined import joined_images


def test_images_follow_one_another_under_names_of_their_own() -> None:
    pixels = np.arange(6, dtype=np.uint8)[:, None, None].repeat(2, 1).repeat(2, 2)
    train = array_images(pixels[:4], ["a", "b", "a", "b"])
    test = array_images(pixels[4:], ["b", "c"])  # the same ids as the first two above
    joined = joined_images({"train": train, "test": test})
    assert [(entry.id, entry.label) for entry in joined.entries] == [
        ("train/00000000", "a"), ("train/00000001", "b"), ("train/00000002", "a"), ("train/00000003", "b"),
        ("test/00000000", "b"), ("test/00000001", "c"),
    ]  # fmt: skip
    sent = pickle.loads(pickle.dumps(joined))
    for source in (joined, sent):
        assert [int(np.asarray(source.read(number))[0, 0]) for number in range(6)] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(IndexError):
        joined.read(6)
