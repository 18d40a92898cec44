"""Features of other levels out of those that were extracted already.

Levels by another measure, random sets and class-balanced levels are of the same concepts and images as the published
levels: their features are rows of the features that are there, in another grouping. Copying them takes minutes, where
extracting them again takes hours.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.features import Features
from unseen.features.store import MANIFEST, read_store, write_store
from unseen.images.domains import SEEN
from unseen.images.splits import draw_place
from unseen.studies.concept_features import SIDES, Place, check_alike, read_about, stores_in

BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows of one store that go into another: their places, in order, and the concept of each."""

    features: Features
    rows: NDArray[np.int64]

    @property
    def ids(self) -> Iterator[str]:
        return (self.features.ids[row] for row in self.rows)

    def batches(self, labels: Mapping[str, int]) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """(X, y) of the rows, those that follow one another together; `labels` are what concepts become."""
        table = np.array([labels.get(name, -1) for name in self.features.classes], dtype=np.int64)
        ends = np.flatnonzero(np.diff(self.rows) != 1) + 1
        for run in np.split(self.rows, ends):
            for start in range(0, len(run), BLOCK):
                part = run[start : start + BLOCK]
                yield self.features.X[int(part[0]) : int(part[-1]) + 1], table[self.features.y[part]]


def regroup(
    folder: Path, backbone: str, levels: Mapping[str, Collection[str]], out: Path, *, most: int | None = None
) -> dict[str, tuple[Place, Place]]:
    """Stores of some levels' features below `out`, made of the stores of a backbone that are below `folder`.

    What is there already is not made again, and a store that has just the concepts of a domain is taken as it is.
    Stores that were regrouped themselves are no sources.

    Args:
        levels: ids of the concepts of each domain.
        most: training images of a concept that is not seen; where it has more, those that the draw puts first.
    """
    if out.resolve() == folder.resolve():
        raise UserError(f"{folder}: features are grouped anew into another folder than they are in; give another --out")
    domains = sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    stores = [
        store
        for domain in domains
        for store in stores_in(domain)
        if store.backbone == backbone and "regrouped_from" not in store.about
    ]
    if not stores:
        raise UserError(f"{folder}: no features of {backbone} in the folders of its domains")
    check_alike(stores)
    for split in SIDES:
        if all(store.split != split for store in stores):
            raise UserError(f"{folder}: no finished {split} features to group anew; finish the extraction")
    found: dict[str, tuple[Place, Place]] = {}
    opened: dict[Path, Features] = {}
    for domain, concepts in levels.items():
        train, test = (
            _store(out / domain, split, concepts, [s for s in stores if s.split == split], opened, limit)
            for split, limit in zip(SIDES, (None if domain == SEEN else most, None), strict=True)
        )
        found[domain] = (train, test)
    return found


def _store(
    folder: Path,
    split: str,
    concepts: Collection[str],
    stores: Sequence[Place],
    opened: dict[Path, Features],
    limit: int | None,
) -> Place:
    """One store of the rows of some concepts."""
    names = tuple(sorted(concepts))
    whole = next((store for store in stores if read_store(store.path).classes == names), None)
    if whole is not None and limit is None:
        return whole
    about = {name: value for name, value in stores[0].about.items() if name not in {"manifest", "source"}}
    sources = sorted(str(store.about["key"]) for store in stores)
    about |= {"regrouped_from": sources, "most": limit}
    about["key"] = hashlib.sha256(json.dumps([sources, names, limit, split]).encode()).hexdigest()
    place = folder / f"regrouped-{split}-{about['key'][:12]}"
    if not (place / MANIFEST).is_file():
        for store in stores:
            if store.path not in opened:
                opened[store.path] = read_store(store.path, verify=True)
        parts = _parts([opened[store.path] for store in stores], names, limit, split)
        labels = {name: label for label, name in enumerate(names)}
        batches = (batch for part in parts for batch in part.batches(labels))
        ids = [id_ for part in parts for id_ in part.ids]
        dtype = str(parts[0].features.X.dtype)
        write_store(place, batches, names, provenance=about, ids=ids, dtype=dtype)
    return Place(place, read_about(place))


def _parts(stores: Sequence[Features], concepts: Sequence[str], most: int | None, split: str) -> list[_Part]:
    """Rows of every concept, each taken from the first store that has it."""
    left = set(concepts)
    parts = []
    for features in stores:
        there = [code for code in np.unique(features.y).tolist() if features.classes[code] in left]
        if not there:
            continue
        left -= {features.classes[code] for code in there}
        rows = np.flatnonzero(np.isin(features.y, there)) if most is None else _first(features, there, most)
        parts.append(_Part(features, rows))
    if left:
        raise UserError(f"no {split} features of {len(left):,} of {len(concepts):,} concepts, {min(left)} for one")
    return parts


def _first(features: Features, codes: Sequence[int], most: int) -> NDArray[np.int64]:
    """Rows of at most so many images of each class: those that come first in the draw with seed 0 (`images.splits`)."""
    chosen = []
    for code in codes:
        rows = np.flatnonzero(features.y == code).tolist()
        name = features.classes[code]

        def place(row: int, name: str = name) -> bytes:
            image = features.ids[row].rpartition("/")[2]
            return draw_place(0, name, image)

        chosen += sorted(rows, key=place)[:most]
    return np.sort(np.array(chosen, dtype=np.int64))
