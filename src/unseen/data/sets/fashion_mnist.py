"""Fashion-MNIST: 70,000 grey images of clothing, 28 × 28 pixels; available as a Debian package."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, numbered, pixels_listing
from unseen.data.formats.idx import idx_file, idx_shape, read_idx
from unseen.errors import UserError

CLASSES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
PREFIXES = {"train": "train", "test": "t10k"}
DEBIAN = Path("/usr/share/datasets/fashion-mnist")
"""The folder where the package `dataset-fashion-mnist` installs its files."""


def read(place: Path) -> Listing:
    """Each part has a file of pixels and a file of classes."""
    rows = []
    files = []
    for part, prefix in PREFIXES.items():
        labels, pixels = (idx_file(place, f"{prefix}-{kind}-ubyte") for kind in ("labels-idx1", "images-idx3"))
        numbers, shape = read_idx(labels), idx_shape(pixels)
        if numbers.ndim != 1 or len(shape) != 3 or len(numbers) != shape[0] or max(numbers, default=0) >= len(CLASSES):
            raise UserError(
                f"{labels}: expected a class from 0 to 9 for each of the {shape[0]:,} images of {pixels.name}"
            )
        rows += numbered((CLASSES[number] for number in numbers), part)
        files.append(pixels)
    return pixels_listing(rows, partial(_pixels, files))


def _pixels(files: Sequence[Path]) -> NDArray[np.uint8]:
    return np.concatenate([read_idx(file) for file in files])


DATASET = Dataset(
    name="fashion-mnist",
    title="Fashion-MNIST",
    classes=10,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="other",
    counts={"train": 48_000, "val": 12_000, "test": 10_000},
    layouts=(
        Layout("FashionMNIST/raw", (), read),
        Layout("fashion-mnist", (), read, lambda: (DEBIAN,)),
    ),
    get="apt install dataset-fashion-mnist, or Zalando Research, fashion-mnist: its four .gz files",
    licence="MIT",
    citation="Xiao et al. 2017, Fashion-MNIST: a Novel Image Dataset for Benchmarking",
)
