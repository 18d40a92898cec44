"""Features of other levels, made from features that were already extracted.

Levels by another measure, random sets and class-balanced levels have the same concepts and images as the published
levels: their features are rows of the existing features in another grouping. Copying them takes minutes, extracting
them again takes hours. The features may be stores of an extraction, or a user's own `train` and `test` in the folder of
each domain, whose classes must then be named by the ids of their concepts.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean, names_of, option
from unseen.features.features import INTEGER, Features
from unseen.features.readers import read_features
from unseen.features.store import MANIFEST, write_store
from unseen.images.domains import SEEN
from unseen.images.releases import WNID
from unseen.images.splits import draw_place
from unseen.probes.samples import SamplesPerClass
from unseen.studies.concepts.features import (
    OWN,
    SIDES,
    Place,
    check_alike,
    own_features,
    read_for_planning,
    stores_in,
)
from unseen.studies.features import read_about
from unseen.studies.probing import FeaturePair

BLOCK = 16_384
Opened = dict[tuple[Path, bool], Features]
"""Features by path, and whether their bytes were verified."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows of one store to copy into another: their positions, in order, and the concept of each."""

    features: Features
    rows: NDArray[np.int64]

    @property
    def ids(self) -> Iterator[str]:
        return (self.features.ids[row] for row in self.rows)

    def batches(self, labels: Mapping[str, int]) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """(X, y) of the rows, with consecutive rows in one batch; `labels` maps concepts to class indices."""
        table = np.array([labels.get(name, -1) for name in self.features.classes], dtype=np.int64)
        ends = np.flatnonzero(np.diff(self.rows) != 1) + 1
        for run in np.split(self.rows, ends):
            for start in range(0, len(run), BLOCK):
                part = run[start : start + BLOCK]
                yield self.features.X[int(part[0]) : int(part[-1]) + 1], table[self.features.y[part]]


def regroup(
    folder: Path,
    backbone: str,
    levels: Mapping[str, Collection[str]],
    out: Path,
    *,
    most: int | None = None,
    seen: str = SEEN,
) -> dict[str, tuple[Place, Place]]:
    """Write stores of the features of levels into `out`, made from the features of a backbone in `folder`.

    Existing stores are not written again, and a store that has exactly the concepts of a domain is used directly.
    Stores that were regrouped themselves are not used as sources.

    Args:
        backbone: id of the backbone; for features without a description, its name.
        levels: ids of the concepts of each domain.
        most: largest number of training images of an unseen concept; if it has more, the first ones of the draw.
        seen: the domain of the seen concepts.
    """
    if out.resolve() == folder.resolve():
        raise UserError(
            f"{folder}: features must be regrouped into another folder; choose another one ({option('out')})"
        )
    there = _sources(folder, backbone)
    check_alike(place for places in there.values() for place in places)
    opened: Opened = {}
    found: dict[str, tuple[Place, Place]] = {}
    for domain, concepts in levels.items():
        train, test = (
            _store(out / domain, split, backbone, concepts, there[split], opened, limit)
            for split, limit in zip(SIDES, (None if domain == seen else most, None), strict=True)
        )
        found[domain] = (train, test)
    return found


def regrouped_pairs(
    folder: Path, backbone: str, levels: Mapping[str, Collection[str]], *, most: int | None = None, seen: str = SEEN
) -> list[FeaturePair]:
    """The pairs that `regroup` would give for the same arguments, for planning."""
    counts: dict[str, dict[str, int]] = {split: {} for split in SIDES}
    dimension = 0
    needed = {name for concepts in levels.values() for name in concepts}
    for split, places in _sources(folder, backbone).items():
        read = {place.path: read_for_planning(place.path) for place in places}
        for features in read.values():
            dimension = features.dimension
            for name, count in zip(features.classes, np.bincount(features.y).tolist(), strict=False):
                counts[split].setdefault(name, count)
        there = {name for name, count in counts[split].items() if count}
        _refuse_lacking(needed, there, read, split, where=f"{folder}: ")
    pairs = []
    for domain, concepts in levels.items():
        limit = most if domain != seen else None
        train, test = ([counts[split].get(name, 0) for name in concepts] for split in SIDES)
        each = [number if limit is None else min(number, limit) for number in train]
        size = (len(concepts), SamplesPerClass.of(each), sum(each), dimension, sum(test))
        pairs.append(FeaturePair(backbone, domain, "", "", "", "", *size))
    return pairs


def class_counts(folder: Path) -> Counter[str]:
    """Class → number of rows of one of the backbones in a folder, training and test features together."""
    whose = next((place.backbone for _, place in _places(folder)), None)
    counts: Counter[str] = Counter()
    for _, place in _places(folder):
        if place.backbone == whose:
            features = read_for_planning(place.path)
            counts.update({features.classes[code]: rows for code, rows in enumerate(np.bincount(features.y).tolist())})
    if not counts:
        raise UserError(f"{folder}: no features in it; give a folder with `train` and `test`, or one folder per domain")
    return +counts


def one_backbone(folder: Path) -> str:
    """The name of the only backbone whose features are in a folder."""
    names = sorted({place.backbone or OWN for _, place in _places(folder)})
    if len(names) > 1:
        raise UserError(
            f"{folder}: features of several backbones ({', '.join(names)}); choose one ({option('backbone')})"
        )
    return names[0] if names else OWN


def _places(folder: Path) -> Iterator[tuple[str | None, Place]]:
    """(split, features) in a folder and in the folders of its domains, without those that were regrouped."""
    domains = sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    for domain in (folder, *domains):
        own = own_features(domain)
        stores = [store for store in stores_in(domain) if store.backbone]
        places = zip(SIDES, own, strict=True) if own else ((store.split, store) for store in stores)
        yield from ((split, place) for split, place in places if "regrouped_from" not in place.about)


def _sources(folder: Path, backbone: str) -> dict[str, list[Place]]:
    """Features of a backbone in a folder and in the folders of its domains, by split."""
    found: dict[str, list[Place]] = {split: [] for split in SIDES}
    for split, place in _places(folder):
        if split in found and place.backbone in {None, backbone}:
            found[split].append(place)
    if not any(found.values()):
        raise UserError(f"{folder}: no features of {backbone} in the folders of its domains")
    for split, places_of in found.items():
        if not places_of:
            raise UserError(f"{folder}: no finished {split} features to regroup; finish the extraction")
    return found


def _store(
    folder: Path,
    split: str,
    backbone: str,
    concepts: Collection[str],
    sources: Sequence[Place],
    opened: Opened,
    limit: int | None,
) -> Place:
    """Write one store with the rows of some concepts."""
    names = tuple(sorted(concepts))
    read = {source.path: _open(source.path, opened) for source in sources}
    whole = next((source for source in sources if read[source.path].classes == names), None)
    if whole is not None and limit is None:
        return whole
    keys = sorted(source.known.key or str(read[source.path].provenance["content_hash"]) for source in sources)
    key = hashlib.sha256(json.dumps([keys, names, limit, split]).encode()).hexdigest()
    place = folder / f"regrouped-{split}-{key[:12]}"
    if not (place / MANIFEST).is_file():
        # Their bytes are copied into other stores, so they must match the manifests.
        checked = {path: _open(path, opened, verify=True) for path in read}
        parts = _parts(checked, names, limit, split)
        labels = {name: label for label, name in enumerate(names)}
        batches = (batch for part in parts for batch in part.batches(labels))
        ids = [id_ for part in parts for id_ in part.ids] if all(part.features.ids for part in parts) else []
        half = all(part.features.X.dtype == np.float16 for part in parts)
        about = _about(sources, names, backbone) | {"regrouped_from": keys, "most": limit, "split": split, "key": key}
        write_store(place, batches, names, provenance=about, ids=ids, dtype="float16" if half else "float32")
    return Place(place, read_about(place))


def _open(path: Path, opened: Opened, *, verify: bool = False) -> Features:
    """Features, opened once; with `verify`, all their bytes are verified first."""
    if (path, verify) not in opened:
        opened[path, verify] = read_features(path) if verify else read_for_planning(path)
    return opened[path, verify]


def _about(sources: Sequence[Place], concepts: Sequence[str], backbone: str) -> dict[str, Any]:
    """The extraction settings of the first source, which all sources share, and the images that they skipped."""
    about = {name: value for name, value in sources[0].about.items() if name not in {"manifest", "source"}}
    damaged = [image for source in sources for image in source.known.damaged if image.label in {None, *concepts}]
    losses = [asdict(image) for image in dict.fromkeys(damaged)]
    whose = {} if sources[0].backbone else {"backbone": {"id": backbone}}
    return about | whose | {"damaged_count": len(losses), "damaged": losses}


def _parts(sources: Mapping[Path, Features], concepts: Sequence[str], most: int | None, split: str) -> list[_Part]:
    """Rows of every concept, from the first source that has it."""
    left = set(concepts)
    parts = []
    for features in sources.values():
        there = [code for code in np.unique(features.y).tolist() if features.classes[code] in left]
        if not there:
            continue
        left -= {features.classes[code] for code in there}
        rows = np.flatnonzero(np.isin(features.y, there)) if most is None else _first(features, there, most)
        parts.append(_Part(features, rows))
    _refuse_lacking(concepts, {*concepts} - left, sources, split)
    return parts


def _refuse_lacking(
    needed: Collection[str], there: Collection[str], sources: Mapping[Path, Features], split: str, where: str = ""
) -> None:
    """Refuse concepts without features."""
    left = sorted({*needed} - {*there})
    if not left:
        return
    lacking = f"{where}no {split} features of {len(left):,} of {len(needed):,} concepts ({names_of(left)})"
    for path, features in sources.items():
        if all(INTEGER.fullmatch(name) for name in features.classes):
            raise UserError(
                f"{lacking}: the classes of {path} are only numbered, so their concepts are not known; "
                "name them by their concepts (an array `classes`, or strings as labels)"
            )
    classes = {name for features in sources.values() for name in features.classes}
    raise UserError(lacking if WNID.fullmatch(left[0]) else f"{lacking}{did_you_mean(left[0], classes)}")


def _first(features: Features, codes: Sequence[int], most: int) -> NDArray[np.int64]:
    """Rows of at most `most` images per class: those that come first in the draw with seed 0 (`images.splits`).

    Images without names are drawn by their numbers within their class.
    """
    chosen = []
    for code in codes:
        rows = np.flatnonzero(features.y == code).tolist()
        images = [features.ids[row].rpartition("/")[2] if features.ids else str(n) for n, row in enumerate(rows)]
        drawn = sorted(zip(images, rows, strict=True), key=lambda each: draw_place(0, features.classes[code], each[0]))
        chosen += [row for _, row in drawn[:most]]
    return np.sort(np.array(chosen, dtype=np.int64))
