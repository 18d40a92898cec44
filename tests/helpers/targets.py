"""A tiny data set of each kind of labels, in memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.arrays import array_images
from unseen.data.core.dataset import Dataset, Target
from unseen.data.core.dense.labels import Labels, Objects
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.ranking import image_label, query_label

SIDE = 32
CLASSES = ("n01440764", "n01443537", "n02708093")
"""Tench, goldfish and analog clock, which classifiers of ImageNet-1K know."""
SEVERAL = (CLASSES[0], f"{CLASSES[1]}+{CLASSES[2]}", CLASSES[2])
NAMES = ("left", "right")
"""Classes of maps and boxes."""


@dataclass(frozen=True)
class HalfLabels:
    """Labels of images whose left and right halves differ."""

    target: Target

    def place(self, number: int) -> str:
        return f"image {number}"

    def read(self, number: int) -> Labels:
        right = np.arange(SIDE) >= SIDE // 2 + number % 4 - 2
        if self.target == "boxes":
            edge = int(right.argmax())
            return Objects.of([[0, 0, edge, SIDE], [edge, 0, SIDE, SIDE]], [0, 1])
        if self.target == "map":
            return np.tile(right.astype(np.uint8), (SIDE, 1))
        if self.target == "depth":
            return np.tile(np.where(right, 1.0, 3.0).astype(np.float32), (SIDE, 1))
        normals = np.where(right[:, None], np.float32([0, 0, 1]), np.float32([0, 1, 0]))
        return np.tile(normals, (SIDE, 1, 1))


def pictures(labels: "NDArray[Any]", count: int) -> NDArray[np.uint8]:
    """Noise, with more red on the right, and more of one of two colours for one of three classes."""
    pixels = np.random.default_rng(count).integers(0, 150, (count, SIDE, SIDE, 3))
    pixels[:, :, SIDE // 2 :, 0] += 60
    pixels[np.arange(count), :, :, labels % 3] += 40
    return pixels.astype(np.uint8)


def tiny_data(target: Target, name: str = "tiny", *, images: int = 24) -> OpenDataset:
    """A data set with half of its images for training, a quarter for validation and a quarter for testing."""
    numbers = np.arange(images) % 3
    dense = target not in {"class", "classes", "ranking"}
    words = SEVERAL if target == "classes" else CLASSES
    labels = ["image"] * images if dense else [words[number] for number in numbers]
    if target == "ranking":
        labels = [image_label({"easy": [n % 2], "hard": [1 - n % 2]}) for n in range(images - 2)]
        labels += [query_label(number) for number in range(2)]
    source = array_images(pictures(numbers, images), labels)
    half, quarter = images // 2, images // 4
    splits = ["train"] * (images - quarter) + ["test"] * quarter if dense else _quarters(half, quarter)
    splits = ["train"] * (images - 2) + ["test"] * 2 if target == "ranking" else splits
    dataset = Dataset(
        name,
        f"tiny data with {target}",
        {"normals": 0, "depth": 0, "ranking": 0, "map": len(NAMES), "boxes": len(NAMES)}.get(target, len(CLASSES)),
        target=target,
        names=NAMES if target in {"map", "boxes"} else (),
        metric="map-11-point" if target == "classes" else "top1",
        validation=None if dense or target == "ranking" else "author",
    )
    return OpenDataset(dataset, source, Manifest(source.entries, splits), HalfLabels(target) if dense else None)


def _quarters(half: int, quarter: int) -> list[str]:
    return ["train"] * half + ["val"] * quarter + ["test"] * quarter
