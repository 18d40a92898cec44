"""Scenes composed of several drawings, with exact boxes and masks; made from the drawings shipped with this package.

A scene is a black canvas with three to six drawings of different sizes, which may touch but not overlap. An object is
the ink of a drawing and the area it encloses. The seen scenes use ten concepts that the demo's networks were trained
on, the unseen scenes ten others; test scenes use drawings that occur in no training scene. The scenes test the pipeline
and show how stroke features transfer to other concepts; they do not measure how well a network recognises photographs.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.concepts.drawings import (
    DATA,
    SEEN_CONCEPTS,
    TRAINING_DRAWINGS,
    category_drawings,
    concepts,
    drawn_order,
)
from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.dense.labels import Objects
from unseen.data.core.rows import IMAGE, Listing, Row, pixels_listing

SIDE, SIZES = 112, (28, 34, 42)
CONCEPTS, COUNTS = 10, {"train": 100, "test": 30}
MOST_OBJECTS, TRIES = 6, 40
GAP = 3
INK = 64
"""Grey level from which a pixel counts as ink."""


def scene_concepts(*, seen: bool) -> tuple[str, ...]:
    """The categories of the scenes: the first of the fixed order, and the first that no network has seen."""
    first = 0 if seen else SEEN_CONCEPTS
    return tuple(concepts()[wnid] for wnid in drawn_order()[first : first + CONCEPTS])


@dataclass(frozen=True, eq=False)
class Scenes:
    """All scenes of a kind: (n, 112, 112) pixels, (n, 112, 112) classes with 0 for background, and objects."""

    pixels: NDArray[np.uint8]
    masks: NDArray[np.uint8]
    objects: tuple[Objects, ...]


@dataclass(frozen=True)
class SceneLabels:
    """Masks or boxes of scenes, generated on first use."""

    seen: bool
    boxes: bool

    def place(self, number: int) -> str:
        return f"scene {number}"

    def read(self, number: int) -> Objects | NDArray[np.uint8]:
        made = scenes(seen=self.seen)
        return made.objects[number] if self.boxes else made.masks[number]


@cache
def scenes(*, seen: bool) -> Scenes:
    """Training scenes followed by test scenes; deterministic."""
    names = scene_concepts(seen=seen)
    made = [
        _scene(np.random.default_rng((seen, split == "test", number)), names, split)
        for split, count in COUNTS.items()
        for number in range(count)
    ]
    pixels, masks, objects = zip(*made, strict=True)
    return Scenes(np.stack(pixels), np.stack(masks), objects)


def _scene(
    rng: np.random.Generator, names: tuple[str, ...], split: str
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Objects]:
    canvas, mask = np.zeros((SIDE, SIDE), dtype=np.uint8), np.zeros((SIDE, SIDE), dtype=np.uint8)
    boxes, classes = list[list[int]](), list[int]()
    wanted = int(rng.integers(3, MOST_OBJECTS + 1))
    for _ in range(TRIES):
        kind = int(rng.integers(len(names)))
        ink = _ink(names[kind], _number(rng, split), int(rng.choice(SIZES)))
        height, width = ink.shape
        top, left = rng.integers(0, SIDE - height + 1), rng.integers(0, SIDE - width + 1)
        place = slice(top, top + height), slice(left, left + width)
        if (mask[place] > 0).any():  # boxes of objects do not overlap
            continue
        canvas[place], mask[place] = ink, np.where(_filled(ink), kind + 1, 0)
        boxes.append([int(left), int(top), int(left + width), int(top + height)])
        classes.append(kind)
        if len(classes) == wanted:
            break
    return canvas, mask, Objects.of(boxes, classes)


def _number(rng: np.random.Generator, split: str) -> int:
    """Index of a drawing of the split."""
    return int(rng.integers(0, TRAINING_DRAWINGS) if split == "train" else rng.integers(TRAINING_DRAWINGS, 100))


def _ink(name: str, number: int, side: int) -> NDArray[np.uint8]:
    """A resized drawing, cropped to its ink."""
    from PIL import Image

    drawn = Image.fromarray(category_drawings()[name][number]).resize((side, side), Image.Resampling.BILINEAR)
    pixels = np.array(drawn)
    rows, columns = (np.flatnonzero((pixels >= INK).any(axis=axis)) for axis in (1, 0))
    return pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _filled(pixels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The pixels of an object: its ink and the area it encloses.

    Gaps of a few pixels in an outline are closed first; the filled area stays within the drawing's bounds.
    """
    from scipy.ndimage import binary_closing, binary_fill_holes

    ink = pixels >= INK
    closed = binary_closing(np.pad(ink, GAP), iterations=GAP)[GAP:-GAP, GAP:-GAP]
    filled: NDArray[np.bool_] = binary_fill_holes(closed | ink)
    return filled


def _listing(*, seen: bool, boxes: bool) -> Listing:
    rows = [Row(f"{split}/{number:03d}", IMAGE, split) for split, count in COUNTS.items() for number in range(count)]
    images = pixels_listing(rows, lambda: scenes(seen=seen).pixels)
    return replace(images, labels=SceneLabels(seen, boxes))


def _dataset(*, seen: bool, boxes: bool) -> Dataset:
    word = "seen" if seen else "unseen"
    names = scene_concepts(seen=seen) if boxes else ("ground", *scene_concepts(seen=seen))

    def read(_: Path) -> Listing:
        return _listing(seen=seen, boxes=boxes)

    return Dataset(
        name=f"scenes-{word}{'-boxes' if boxes else ''}",
        title=f"scenes of drawings, {word} concepts",
        also_called=(f"scenes-{word}",),
        target="boxes" if boxes else "map",
        classes=len(names),
        names=names,
        counts=COUNTS,
        layouts=(Layout("drawings", ("drawings.npz", "categories.csv"), read, lambda: (DATA,)),),
        get="this package; install unseen again",
        licence="CC BY 4.0",
        citation="Google 2017, The Quick, Draw! Dataset",
    )


DATASETS = tuple(_dataset(seen=seen, boxes=boxes) for boxes in (False, True) for seen in (True, False))
