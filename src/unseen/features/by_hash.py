"""The features of a job, found by content hash; the splits share one list of classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from unseen.errors import UserError
from unseen.features.features import Features


class Stored(Protocol):
    """Features of images, of any shape and with any labels; `Features` are vectors with one class each."""

    @property
    def provenance(self) -> Mapping[str, Any]: ...
    @property
    def zero_rows(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...


S = TypeVar("S", bound=Stored)
Load = Callable[[Path], Features]
"""Reads a file or folder of vectors."""


def load_unchanged(content_hash: str, place: str, load: Callable[[Path], S]) -> S:
    """Features that must still have the content hash the job was planned with."""
    features = load(Path(place))
    if features.provenance.get("content_hash") != content_hash:
        raise UserError(f"{place}: changed since this run was planned; run it again")
    return features


def align_splits(parts: Sequence[Features], where: str) -> tuple[Features, ...]:
    """The same features with labels as indices into one sorted list of all classes that occur in any split."""
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
