"""How alike the backbones of a run represent the same images: computed from the run's feature stores, and kept there.

A store is found by the key that `run.json` has of it, and its rows are matched by the names of images. The values are
kept in `similarity.json` in the folder of the run, by a hash of everything that determines them, so that a second page
does not compute them again.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unseen.data.core.rows import ALL
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.features.store import Shards, read_manifest, read_store
from unseen.files import write_text
from unseen.metrics.similarity import NEIGHBOURS, PERMUTATIONS, PairSimilarity, Similarities, similarities
from unseen.reading.json_records import read_json, typed
from unseen.runs.data import RunData
from unseen.runs.setup import SHORT, FeatureKey
from unseen.studies.stored_features import FEATURES, Place, stores_in

IMAGES, LEAST, MOST_BACKBONES = 1000, 40, 100
"""Images of a data set that are compared at most and at least, and backbones; the paper of mutual neighbours has
about as many images."""
FILE = "similarity.json"
REVISION = 1
"""Increased when other values come from the same features."""
DIGITS = 5


@dataclass(frozen=True, eq=False)
class SimilarBackbones:
    """The similarities of the backbones of a run on a data set.

    Attributes:
        images: images that are compared.
        of: images that all of the backbones have features of.
    """

    dataset: str
    backbones: tuple[str, ...]
    of: int
    similarities: Similarities

    @property
    def images(self) -> int:
        return self.similarities.images


@dataclass(frozen=True, eq=False)
class FeatureSimilarity:
    """The similarities on every data set that has them, and why the others have none.

    Attributes:
        left_out: a phrase for each data set.
    """

    every: tuple[SimilarBackbones, ...]
    left_out: tuple[str, ...] = ()


def feature_similarity(data: RunData, *, keep: bool = True) -> FeatureSimilarity:
    """Compare the backbones of a run, or of several merged ones, on the test images of each data set.

    Args:
        keep: keep the values in the folder of the run, if it is a single one that can be written.
    """
    stores = {key: place for folder in data.folders for key, place in _stores(folder).items()}
    known = {key: each for folder in data.folders for key, each in _kept(folder).items()}
    every, left_out, entries = list[SimilarBackbones](), list[str](), dict[str, Any]()
    for domain in data.domains:
        keys = {each.backbone: _tested(each) for each in data.features if each.domain == domain.name}
        keys = {name: key for name, key in keys.items() if key}
        if len(keys) < 2:
            continue
        places = {name: stores[key] for name, key in keys.items() if key in stores}
        if len(places) < 2:
            left_out.append(f"{domain.title}: the features are not in the folder of the run")
            continue
        chosen = dict([*places.items()][:MOST_BACKBONES])
        key = _key([place.path for place in chosen.values()])
        try:
            entry = known.get(key) or _entry(chosen)
        except UserError as error:
            left_out.append(f"{domain.title}: {error}")
            continue
        entries[key] = entry
        every.append(_read(domain.name, tuple(chosen), entry))
    if keep and len(data.folders) == 1 and entries.keys() - known.keys():
        with suppress(UserError):
            write_text(data.folders[0] / FILE, json.dumps({**known, **entries}, separators=(",", ":")))
    return FeatureSimilarity(tuple(every), tuple(left_out))


def similarity_table(found: FeatureSimilarity) -> pd.DataFrame:
    """One row per data set and pair of backbones; it is an error if none could be compared."""
    if not found.every:
        raise UserError(
            "; ".join(found.left_out) or "no data set has features of two backbones in this run; run it with another"
        )
    rows = []
    for each in found.every:
        pairs = {"cka": each.similarities.cka, "mutual_knn": each.similarities.mutual_knn}
        for i, j in combinations(range(len(each.backbones)), 2):
            row = {"domain": each.dataset, "first": each.backbones[i], "second": each.backbones[j]}
            values = {
                f"{name}{ending}": float(of[i, j])
                for name, pair in pairs.items()
                for ending, of in (("", pair.value), ("_level", pair.level), ("_above", pair.above))
            }
            rows.append({**row, "images": each.images, **values})
    return pd.DataFrame(rows)


def _stores(folder: Path) -> dict[str, Place]:
    """The stores in the folder of a run by their keys, as far as they can be read."""
    found = dict[str, Place]()
    place = folder / FEATURES
    for dataset in sorted(place.iterdir()) if place.is_dir() else ():
        with suppress(UserError):
            found |= {each.known.key[:SHORT]: each for each in stores_in(dataset) if each.known.key}
    return found


def _tested(features: FeatureKey) -> str:
    """The key of the features of test images; empty for features of patches and files, which are known by a hash."""
    key = features.keys.get("test") or features.keys.get(ALL, "")
    return key if len(key) == SHORT else ""


def _kept(folder: Path) -> Mapping[str, Any]:
    """What an earlier page kept; a damaged file counts as none."""
    if not (folder / FILE).is_file():
        return {}
    try:
        kept: dict[str, Any] = read_json(folder / FILE)
        return {key: each for key, each in kept.items() if _is_entry(each)}
    except UserError:
        return {}


def _is_entry(entry: Any) -> bool:
    try:
        typed(entry, dict[str, int | list[list[float]]], "")
        size = _count(entry["cka"][0])
        lists = [line for name in ("cka", "mutual_knn") for line in entry[name]]
        return len(lists) == 6 and all(len(line) == size * (size + 1) // 2 for line in lists) and entry["images"] > 3
    except (UserError, KeyError, IndexError, TypeError):
        return False


def _key(places: Sequence[Path]) -> str:
    """SHA-256 of everything that determines the values: the features, the names of images, and how they are drawn."""
    digest = hashlib.sha256(f"{REVISION} {IMAGES} {NEIGHBOURS} {PERMUTATIONS}".encode())
    for place in places:
        manifest = read_manifest(place)
        digest.update(manifest.content_hash.encode())
        if manifest.has_ids:
            digest.update(hashlib.sha256((place / "ids.txt").read_bytes()).digest())
    return digest.hexdigest()


def _entry(places: Mapping[str, Place]) -> dict[str, Any]:
    """The values of a data set, as JSON: the upper triangles, row by row."""
    stored = [read_store(place.path) for place in places.values()]
    rows, of = same_rows(stored)
    drawn = [partial(_at, each, chosen) for each, chosen in zip(stored, rows, strict=True)]
    found = similarities(_Lazy(drawn), names=list(places))
    upper = np.triu_indices(len(places))

    def lines(pairs: PairSimilarity) -> list[list[float]]:
        return [each[upper].round(DIGITS).tolist() for each in (pairs.value, pairs.mean, pairs.level)]

    return {"images": found.images, "of": of, "neighbours": found.neighbours, "cka": lines(found.cka),
            "mutual_knn": lines(found.mutual_knn)}  # fmt: skip


def _read(dataset: str, backbones: tuple[str, ...], entry: Mapping[str, Any]) -> SimilarBackbones:
    def pairs(name: str) -> PairSimilarity:
        return PairSimilarity(*(_square(line) for line in entry[name]))

    found = Similarities(entry["images"], entry["neighbours"], pairs("cka"), pairs("mutual_knn"))
    return SimilarBackbones(dataset, backbones, entry["of"], found)


def _square(line: Sequence[float]) -> NDArray[np.float64]:
    """A symmetric matrix from its upper triangle."""
    size = _count(line)
    square = np.zeros((size, size))
    square[np.triu_indices(size)] = line
    return square + np.triu(square, 1).T


def _count(line: Sequence[float]) -> int:
    return round((sqrt(8 * len(line) + 1) - 1) / 2)


def same_rows(stored: Sequence[Features], most: int = IMAGES) -> tuple[list[NDArray[np.int64]], int]:
    """For each representation, the rows of the same images in the same order, at most `most`; and how many all have.

    The images are drawn from their sorted names, so that the same are drawn whatever the order of the stores.
    """
    if all(len(each.ids) for each in stored):
        places: list[dict[Any, int]] = [{name: row for row, name in enumerate(each.ids)} for each in stored]
        shared: list[Any] = sorted(set(places[0]).intersection(*places[1:]))
    elif any(len(each) != len(stored[0]) or not np.array_equal(each.y, stored[0].y) for each in stored):
        raise UserError("the features do not name their images, and differ in their labels")
    else:
        shared = [*range(len(stored[0]))]
        places = [dict(zip(shared, shared, strict=True))] * len(stored)
    if len(shared) < LEAST:
        raise UserError(f"the backbones have features of {len(shared)} images in common, and {LEAST} are needed")
    drawn = np.sort(np.random.default_rng(0).permutation(len(shared))[:most])
    return [np.array([of[shared[row]] for row in drawn], dtype=np.int64) for of in places], len(shared)


@dataclass(frozen=True, eq=False)
class _Lazy(Sequence[NDArray[Any]]):
    """Arrays that are read when they are used."""

    read: Sequence[Any]

    def __len__(self) -> int:
        return len(self.read)

    def __getitem__(self, place: Any) -> Any:
        return self.read[place]()

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (read() for read in self.read)


def _at(features: Features, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Some rows of a store, of which only these are read."""
    assert isinstance(features.X, Shards)
    found, start = np.empty((len(rows), features.dimension)), 0
    for part in features.X.parts:
        inside = (rows >= start) & (rows < start + len(part))
        found[inside] = part[rows[inside] - start]
        start += len(part)
    return found
