"""Pictures of where an attentive probe looks in test images: the mean of its queries, and those that differ most."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unseen.data.core.dense.pictures import GAP, HEIGHT, overlay
from unseen.files import atomic_write

SHOWN, QUERIES = 4, 4
"""Pictures of images that are classified correctly, and as many of others; and queries of each picture."""


@dataclass(frozen=True)
class AttentionPicture:
    """What a result says about a picture: its file, its image, and the true and the predicted class.

    Attributes:
        queries: the queries of the last panels, counted from 0.
    """

    file: str
    image: str
    truth: str
    predicted: str
    right: bool
    queries: tuple[int, ...]


def shown_images(right: NDArray[np.bool_]) -> list[int]:
    """Some images that are classified correctly, then some others, evenly spread over the test set."""
    return [row for side in (right, ~right) for row in _spread(np.flatnonzero(side))]


def _spread(rows: NDArray[np.int64]) -> list[int]:
    places = np.linspace(0, len(rows) - 1, min(SHOWN, len(rows))).round().astype(np.int64)
    return [int(row) for row in rows[places]]


def different_queries(maps: NDArray[np.floating], count: int = QUERIES) -> list[int]:
    """The queries whose attention differs most: first the one farthest from the mean, then always the one whose nearest
    chosen one is farthest.

    Args:
        maps: (images, m, P) attention; distances are Euclidean, over all images together.
    """
    each = maps.transpose(1, 0, 2).reshape(maps.shape[1], -1)
    chosen = [int(np.square(each - each.mean(axis=0)).sum(axis=1).argmax())]
    nearest = np.full(len(each), np.inf)
    while len(chosen) < min(count, len(each)):
        nearest = np.minimum(nearest, np.square(each - each[chosen[-1]]).sum(axis=1))
        chosen.append(int(nearest.argmax()))
    return chosen


def draw_attention(pixels: NDArray[np.uint8], maps: NDArray[np.floating], grid: tuple[int, int], path: Path) -> None:
    """Write a PNG: the image, then the maps over it, each from its lowest to its highest value.

    Args:
        pixels: (h, w, 3) the part of the image that the patches cover.
        maps: (·, P) one or several maps.
    """
    width = max(1, round(HEIGHT * pixels.shape[1] / pixels.shape[0]))
    whole = Image.fromarray(pixels).resize((width, HEIGHT))
    sheet = Image.new("RGB", ((len(maps) + 1) * width + len(maps) * GAP, HEIGHT), "white")
    sheet.paste(whole, (0, 0))
    for place, each in enumerate(maps, start=1):
        small = Image.fromarray(each.astype(np.float32).reshape(grid))
        large = np.asarray(small.resize((width, HEIGHT), Image.Resampling.BILINEAR))
        sheet.paste(Image.fromarray(overlay(np.asarray(whole), large)), (place * (width + GAP), 0))
    with atomic_write(path) as file:
        sheet.save(file, format="PNG", optimize=True)


def attention_panels(maps: NDArray[np.floating]) -> tuple[list[int], NDArray[np.floating]]:
    """The most different queries, and (images, 1 + queries, P) the mean over all queries and theirs."""
    queries = different_queries(maps)
    return queries, np.concatenate([maps.mean(axis=1, keepdims=True), maps[:, queries]], axis=1)


def picture_files(count: int, folder: Path) -> Iterator[Path]:
    """Paths of so many pictures; the folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    yield from (folder / f"{place:02d}.png" for place in range(count))


def names_of(labels: Sequence[bool] | int, classes: Sequence[str]) -> str:
    """The class of an image, or its classes."""
    if isinstance(labels, int):
        return classes[labels]
    return ", ".join(name for name, shown in zip(classes, labels, strict=True) if shown)
