"""The features that a job works on, found by their content hashes, with the same classes in one order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from unseen.errors import UserError
from unseen.features.features import Features, align

Load = Callable[[Path], Features]
"""Reads a file or folder of features."""


def load_pair(train: str, test: str, places: Mapping[str, str], load: Load) -> tuple[Features, Features]:
    """Training and test features with the same classes in the same order, kept for the next job.

    Args:
        train, test: content hashes.
        places: content hash → file or folder.
        load: reads such a place.
    """
    return _aligned_pair((train, test), (places[train], places[test]), load)


@lru_cache(maxsize=2)
def _aligned_pair(hashes: tuple[str, str], places: tuple[str, str], load: Load) -> tuple[Features, Features]:
    train, test = (load_unchanged(each, place, load) for each, place in zip(hashes, places, strict=True))
    return align(train, test, " and ".join(places))


def load_unchanged(content_hash: str, place: str, load: Load) -> Features:
    """Features whose content must be what the job was planned with."""
    features = load(Path(place))
    if features.provenance.get("content_hash") != content_hash:
        raise UserError(f"{place}: changed since this run was planned; run it again")
    return features


def load_splits(hashes: Sequence[str], places: Mapping[str, str], load: Load) -> tuple[Features, ...]:
    """The features of some splits, by their content hashes, aligned and kept for the next job.

    Args:
        places: content hash → file or folder.
    """
    return _aligned_splits(tuple(hashes), tuple(places[each] for each in hashes), load)


@lru_cache(maxsize=1)
def _aligned_splits(hashes: tuple[str, ...], places: tuple[str, ...], load: Load) -> tuple[Features, ...]:
    parts = [load_unchanged(each, place, load) for each, place in zip(hashes, places, strict=True)]
    return align_splits(parts, " and ".join(places))


def align_splits(parts: Sequence[Features], where: str) -> tuple[Features, ...]:
    """The same features with labels that are indices into one list of classes, those that any part has, sorted."""
    dimensions = {part.dimension for part in parts}
    if len(dimensions) > 1:
        raise UserError(f"{where}: features of {' and '.join(map(str, sorted(dimensions)))} dimensions")
    names = sorted({part.classes[index] for part in parts for index in np.unique(part.y).tolist()})
    index = {name: number for number, name in enumerate(names)}

    def relabelled(part: Features) -> Features:
        table = np.array([index.get(name, -1) for name in part.classes], dtype=np.int64)
        return replace(part, y=table[part.y], classes=tuple(names))

    return tuple(relabelled(part) for part in parts)


def split_labels(parts: Mapping[str, Features]) -> dict[str, set[str]]:
    """The distinct labels of each split, by name."""
    return {split: {part.classes[index] for index in np.unique(part.y)} for split, part in parts.items()}
