"""Features of other levels, made from features that were already extracted.

Levels by another measure, random sets and class-balanced levels have the same concepts and images as the published
levels: their features are rows of the existing features in another grouping. Copying them takes minutes, extracting
them again takes hours. The rows are found by the names of their classes (`unseen.studies.concepts.named_features`),
which must be those of the concepts.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.concepts.domains import SEEN
from unseen.data.core.splits import draw_place
from unseen.errors import UserError, option
from unseen.features.store import MANIFEST, write_store
from unseen.studies.concepts.named_features import SIDES, NamedFeatures, named_features
from unseen.studies.stored_features import Place, read_about

BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class _Grouping:
    """The training or test features of a domain: a source that has exactly them, or a store to write.

    Attributes:
        folder: the folder of the domain.
        concepts: sorted ids.
        sources: features of these and other concepts.
        limit: largest number of images of a concept.
    """

    folder: Path
    side: str
    backbone: str
    concepts: tuple[str, ...]
    sources: Sequence[NamedFeatures]
    limit: int | None

    @property
    def counts(self) -> list[int]:
        """The number of rows of each concept."""
        there = [sum(len(source.rows[name]) for source in self._of(name)) for name in self.concepts]
        return there if self.limit is None else [min(count, self.limit) for count in there]

    @property
    def place(self) -> Place | None:
        """The features, if they exist already."""
        first, *others = self._used
        if not others and self.limit is None and first.features.classes == self.concepts:
            return first.place
        return Place(self._path, read_about(self._path)) if (self._path / MANIFEST).is_file() else None

    def write(self) -> Place:
        """Write the store."""
        labels = {name: label for label, name in enumerate(self.concepts)}
        parts = self._rows()
        batches = (batch for source, rows in parts.items() for batch in _batches(source, rows, labels))
        known = all(source.features.ids for source in parts)
        ids = [source.features.ids[row] for source, rows in parts.items() for row in rows] if known else []
        half = all(source.features.X.dtype == np.float16 for source in parts)
        about = _about(self._used, self.concepts, self.backbone)
        about |= {"regrouped_from": self._keys, "most": self.limit, "split": self.side, "key": self._key}
        dtype = "float16" if half else "float32"
        write_store(self._path, batches, self.concepts, provenance=about, ids=ids, dtype=dtype)
        return Place(self._path, read_about(self._path))

    def _of(self, name: str) -> list[NamedFeatures]:
        """The sources of a concept: the first of each split that has it."""
        first: dict[str | None, NamedFeatures] = {}
        for source in self.sources:
            if name in source.rows:
                first.setdefault(source.split, source)
        return list(first.values())

    @cached_property
    def _used(self) -> list[NamedFeatures]:
        """The sources of all concepts, in order."""
        used = {source for name in self.concepts for source in self._of(name)}
        return [source for source in self.sources if source in used]

    def _rows(self) -> dict[NamedFeatures, NDArray[np.int64]]:
        """The rows of each source, in order."""
        chosen: dict[NamedFeatures, list[NDArray[np.int64]]] = {source: [] for source in self._used}
        for name in self.concepts:
            rows = {source: source.rows[name] for source in self._of(name)}
            for source, part in (rows if self.limit is None else _first(rows, name, self.limit)).items():
                chosen[source].append(part)
        found = {source: np.sort(np.concatenate(parts)) for source, parts in chosen.items() if parts}
        return {source: rows for source, rows in found.items() if len(rows)}

    @property
    def _keys(self) -> list[str]:
        known = [(source.place.known.key, source.features.provenance) for source in self._used]
        return sorted(key or str(provenance["content_hash"]) for key, provenance in known)

    @property
    def _key(self) -> str:
        """The hash of everything that determines the store."""
        return hashlib.sha256(json.dumps([self._keys, self.concepts, self.limit, self.side]).encode()).hexdigest()

    @property
    def _path(self) -> Path:
        return self.folder / f"regrouped-{self.side}-{self._key[:12]}"


@dataclass(frozen=True, eq=False)
class Grouped:
    """The features of a domain by a backbone, made of rows of other features."""

    backbone: str
    domain: str
    train: _Grouping
    test: _Grouping

    @property
    def counts(self) -> tuple[list[int], list[int]]:
        """Training and test rows of each concept."""
        return self.train.counts, self.test.counts

    @property
    def dimension(self) -> int:
        return self.train.sources[0].features.dimension

    @property
    def places(self) -> dict[str, Place] | None:
        """The features, if they exist already."""
        train, test = self.train.place, self.test.place
        return {"train": train, "test": test} if train and test else None

    def written(self) -> dict[str, Place]:
        """The features; missing stores are written, and a store with exactly these concepts is used as it is."""
        return {"train": self.train.place or self.train.write(), "test": self.test.place or self.test.write()}


def grouped(
    folder: Path,
    backbone: str,
    levels: Mapping[str, Collection[str]],
    out: Path,
    *,
    most: int | None = None,
    seen: str = SEEN,
) -> Iterator[Grouped]:
    """The features of levels, made from the features of a backbone in `folder`; stores are written into `out`.

    Stores that were regrouped themselves are not used as sources.

    Args:
        backbone: id of the backbone; for features without a description, its name.
        levels: ids of the concepts of each domain.
        most: largest number of training images of an unseen concept; if it has more, the first ones of the draw.
        seen: the domain of the seen concepts.
    """
    for domain, (train, test) in _groupings(folder, backbone, levels, out, most, seen).items():
        yield Grouped(backbone, domain, train, test)


def _groupings(
    folder: Path, backbone: str, levels: Mapping[str, Collection[str]], out: Path, most: int | None, seen: str
) -> dict[str, tuple[_Grouping, _Grouping]]:
    """The training and test features of every domain; the arguments are those of `grouped`."""
    if out.resolve() == folder.resolve():
        raise UserError(f"{folder}: features are regrouped into another folder; choose another one ({option('out')})")
    sources = named_features(folder, backbone, levels)
    found = {}
    for domain, concepts in levels.items():
        limits = dict(zip(SIDES, (None if domain == seen else most, None), strict=True))
        train, test = (
            _Grouping(out / domain, side, backbone, tuple(sorted(concepts)), sources[side], limits[side])
            for side in SIDES
        )
        found[domain] = train, test
    return found


def _batches(
    source: NamedFeatures, rows: NDArray[np.int64], labels: Mapping[str, int]
) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """(X, y) of some rows, with consecutive rows in one batch; `labels` maps concepts to class indices.

    Bytes that are copied into other stores must match the manifest of their own.
    """
    features = source.verified
    table = np.array([labels.get(name, -1) for name in features.classes], dtype=np.int64)
    ends = np.flatnonzero(np.diff(rows) != 1) + 1
    for run in np.split(rows, ends):
        for start in range(0, len(run), BLOCK):
            part = run[start : start + BLOCK]
            yield features.X[int(part[0]) : int(part[-1]) + 1], table[features.y[part]]


def _about(sources: Sequence[NamedFeatures], concepts: Sequence[str], backbone: str) -> dict[str, Any]:
    """The extraction settings of the first source, which all sources share, and the images that they skipped."""
    first = sources[0].place
    about = {name: value for name, value in first.about.items() if name not in {"manifest", "source"}}
    damaged = [image for each in sources for image in each.place.known.damaged if image.label in {None, *concepts}]
    losses = [asdict(image) for image in dict.fromkeys(damaged)]
    whose = {} if first.backbone else {"backbone": {"id": backbone}}
    return about | whose | {"damaged_count": len(losses), "damaged": losses}


def _first(
    rows: Mapping[NamedFeatures, NDArray[np.int64]], name: str, most: int
) -> dict[NamedFeatures, NDArray[np.int64]]:
    """Rows of at most `most` images of a class: those that come first in the draw with seed 0 (`images.splits`).

    Images without names are drawn by their numbers within their class.
    """
    drawn = list[tuple[bytes, NamedFeatures, int]]()
    for source, numbers in rows.items():
        images = source.images(name) or [str(len(drawn) + number) for number in range(len(numbers))]
        places = (draw_place(0, name, image.rpartition("/")[2]) for image in images)
        drawn += zip(places, [source] * len(numbers), numbers.tolist(), strict=True)
    kept = sorted(drawn, key=lambda each: each[0])[:most]
    return {source: np.array([row for _, of, row in kept if of is source], dtype=np.int64) for source in rows}
