"""The embedded data: 340 categories of human drawings, each a WordNet concept, divided into a seen domain and five
levels.

100 drawings of 28 × 28 pixels per category (Quick, Draw!, CC BY 4.0; see data/ATTRIBUTION.md). The first 80 of a
concept are for training backbones and probes; the last 20 are only used for testing.
"""

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unseen.images.drawings import DATA, TRAINING_DRAWINGS, category_drawings, concepts, drawn_order, seen_concepts
from unseen.ontology.levels import Built, build_levels
from unseen.ontology.recipes import Recipe
from unseen.ontology.wordnet import wordnet

CLASSES = 45

DEMO = Recipe(name="demo", universe="drawings", seen="100 drawn by hash", levels=5, size=CLASSES)
"""Levels over the categories of the drawings: no minimum of images, leaves among the categories, Lin, stable ties."""


@lru_cache(maxsize=1)
def demo_levels() -> Built:
    """Five levels of the other concepts, built by the same code as those of ImageNet-CoG."""
    return build_levels(DEMO, wordnet().taxonomy, list(concepts()), seen_concepts())


def domains() -> dict[str, tuple[str, ...]]:
    """Domain → its 45 concepts sorted by id: `seen`, a fixed draw from the 100 seen ones, then `l1` … `l5`."""
    levels = demo_levels().levels
    seen = tuple(sorted(drawn_order()[:CLASSES]))
    return {"seen": seen} | {f"l{number}": levels.ids(number) for number in levels.numbers}


def drawings(wnids: tuple[str, ...] | list[str], split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, 28, 28), ink 255 on 0, of the `train` or `test` part of some concepts, and their labels."""
    part = slice(TRAINING_DRAWINGS) if split == "train" else slice(TRAINING_DRAWINGS, None)
    images = np.stack([category_drawings()[concepts()[wnid]][part] for wnid in wnids])
    labels = np.repeat(np.arange(len(wnids)), images.shape[1])
    return images.reshape(-1, *images.shape[2:]), labels


@lru_cache(maxsize=1)
def data_hash() -> str:
    """SHA-256 of the file of drawings."""
    return hashlib.sha256((DATA / "drawings.npz").read_bytes()).hexdigest()
