"""The drawings shipped with this package, and which of their concepts the demo's networks have seen.

100 drawings of 28 × 28 pixels per category (Quick, Draw!, CC BY 4.0; see demo/data/ATTRIBUTION.md).
"""

import hashlib
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.files import read_table
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading

DATA = Path(__file__).parents[2] / "demo/data"
TRAINING_DRAWINGS = 80
"""Number of training drawings of a concept, its first ones; the others are for testing."""
SEEN_CONCEPTS = 100


@lru_cache(maxsize=1)
def concepts() -> dict[str, str]:
    """Synset id → category, for every category with a synset, sorted by id."""
    rows = (row for _, row in read_table(DATA / "categories.csv", ["category", "synset", "wnid", "reason"]))
    return dict(sorted((row["wnid"], row["category"]) for row in rows if row["wnid"]))


def drawn_order() -> list[str]:
    """The concepts in an arbitrary but fixed order: by SHA-256 of their ids."""
    return sorted(concepts(), key=lambda wnid: hashlib.sha256(f"0/{wnid}".encode()).digest())


def seen_concepts() -> list[str]:
    """The 100 concepts that the demo's backbones are trained on, sorted by id."""
    return sorted(drawn_order()[:SEEN_CONCEPTS])


@lru_cache(maxsize=1)
def category_drawings() -> dict[str, NDArray[np.uint8]]:
    """Category → (100, 28, 28) drawings, ink 255 on 0."""
    path = DATA / "drawings.npz"
    with reading(path, "the drawings of this package"):
        file = read_npz(path)
        return dict(zip(file["categories"].tolist(), file["drawings"], strict=True))
