"""Levels of the drawings that ship with this package, for two choices of seen concepts.

`drawings` is for the package's own small networks, which were trained on 100 of the 340 drawn concepts: a seen domain
of 45 of these, and five levels of 45 others. `drawings-imagenet` is for backbones that were trained on ImageNet-1K: 30
of its concepts that are drawn, and five levels of 30 others. Of each concept, the first 80 drawings are for training
and the last 20 for testing.

The recipes of ImageNet-CoG drop ancestors of seen concepts. For ImageNet-1K, descendants are dropped too: a backbone
trained on balloons has probably seen hot-air balloons under that name, so they are not unseen.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unseen.data.concepts.domains import open_domain
from unseen.data.concepts.drawings import (
    DATA,
    TRAINING_DRAWINGS,
    category_drawings,
    concepts,
    drawn_order,
    seen_concepts,
)
from unseen.data.core.arrays import array_images
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import Entry
from unseen.ontology.levels import Built, build_levels
from unseen.ontology.recipes import Recipe
from unseen.ontology.wordnet import wordnet

SEEN = "seen"
OWN, IMAGENET = "drawings", "drawings-imagenet"
CLASSES = {OWN: 45, IMAGENET: 30}
"""Number of concepts per domain; after all rules, 154 are left for the levels of `drawings-imagenet`."""
IMAGENET_1K = "imagenet-1k"


@lru_cache(maxsize=2)
def drawing_levels(name: str) -> Built:
    """The five levels of that name, built by the same code as those of ImageNet-CoG."""
    taxonomy = wordnet().taxonomy
    recipe = Recipe(name, universe="drawings", seen="100 drawn by hash", levels=5, size=CLASSES[name])
    if name == OWN:
        return build_levels(recipe, taxonomy, list(concepts()), seen_concepts())
    universe = [wnid for wnid in concepts() if wnid not in under_imagenet()]
    recipe = Recipe(name, universe="drawings", seen=IMAGENET_1K, levels=5, size=CLASSES[name])
    return build_levels(recipe, taxonomy, universe, wordnet().members(IMAGENET_1K))


@lru_cache(maxsize=1)
def under_imagenet() -> tuple[str, ...]:
    """The drawn concepts that are descendants of an ImageNet-1K concept and not in ImageNet-1K themselves."""
    taxonomy, seen = wordnet().taxonomy, wordnet().members(IMAGENET_1K)
    below = taxonomy.below(taxonomy.index(seen))
    return tuple(wnid for wnid in concepts() if below[taxonomy.position[wnid]] and wnid not in set(seen))


@lru_cache(maxsize=1)
def in_imagenet() -> tuple[str, ...]:
    """The drawn concepts in ImageNet-1K, in the fixed arbitrary order used for drawing some of them."""
    known = set(wordnet().members(IMAGENET_1K))
    return tuple(wnid for wnid in drawn_order() if wnid in known)


def drawing_domains(name: str) -> dict[str, tuple[str, ...]]:
    """Domain → its concepts sorted by id: `seen`, a fixed draw from all seen ones that are drawn, then `l1` … `l5`."""
    levels, known = drawing_levels(name).levels, drawn_order() if name == OWN else in_imagenet()
    seen = tuple(sorted(known[: CLASSES[name]]))
    return {SEEN: seen} | {f"l{number}": levels.ids(number) for number in levels.numbers}


def drawings(wnids: Sequence[str], split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, 28, 28), ink 255 on 0, of the `train` or `test` part of some concepts, and their labels."""
    part = slice(TRAINING_DRAWINGS) if split == "train" else slice(TRAINING_DRAWINGS, None)
    images = np.stack([category_drawings()[concepts()[wnid]][part] for wnid in wnids])
    labels = np.repeat(np.arange(len(wnids)), images.shape[1])
    return images.reshape(-1, *images.shape[2:]), labels


def on_paper(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Dark ink on white paper, as people drew it."""
    return 255 - images


def open_drawings(domains: Mapping[str, Sequence[str]]) -> list[OpenDataset]:
    """The drawings of some concepts on paper, as domains that share one source.

    Args:
        domains: name → ids of its concepts, sorted.
    """
    # An extraction fingerprints only 16 images of a split, so the contents of all of them are in their names.
    beginning, pixels, rows, splits = data_hash()[:16], list[NDArray[np.uint8]](), list[Entry](), list[str]()
    starts = [0]
    for wnids in domains.values():
        for split in ("train", "test"):
            images, labels = drawings(wnids, split)
            named = ((wnids[label], f"{split}-{place:04d}") for place, label in enumerate(labels))
            rows += [Entry(f"{beginning}/{wnid}/{place}", wnid) for wnid, place in named]
            splits += [split] * len(images)
            pixels.append(on_paper(images))
        starts.append(len(rows))
    source = array_images(np.concatenate(pixels), [row.label for row in rows], [row.id for row in rows])
    return [
        open_domain(name, wnids, (source, Manifest(rows[start:stop], splits[start:stop])))
        for (name, wnids), (start, stop) in zip(domains.items(), pairwise(starts), strict=True)
    ]


@lru_cache(maxsize=1)
def data_hash() -> str:
    """SHA-256 of the file of drawings."""
    return hashlib.sha256((DATA / "drawings.npz").read_bytes()).hexdigest()
