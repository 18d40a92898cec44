"""The feature store: a folder of memory-mapped shards and a manifest that describes them.

    manifest.json      format, rows, dimension, dtype, classes, shards with their hashes, provenance, content hash
    X-00000.npy …      (rows, d) float16 or float32
    y.npy              (n,) int64 labels
    ids.txt            names of the images, one per line, if known
    cost.json          what the features cost (`unseen.features.costs`)
    checked.json       note that the shards match their hashes (`unseen.features.checked`)

Every file is written under a temporary name and renamed when complete, the manifest last: a folder without a manifest
is unfinished.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, row_numbers
from unseen.features.checked import Checked, Tell, checked_once
from unseen.features.features import Features, check_features, check_ids, flawed_rows, refuse_not_finite
from unseen.features.go_through import go_through_parts
from unseen.files import atomic_write, is_plain_name, read_text, refuse_special, write_text
from unseen.reading.arrays import read_npy
from unseen.reading.guard import reading
from unseen.reading.json_records import read_json, typed

FORMAT = 1
MANIFEST = "manifest.json"
DTYPES = ("float16", "float32")
SHARD_ROWS = 100_000


@dataclass(frozen=True)
class ShardFile:
    """A shard in a manifest: a file in the same folder."""

    file: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The contents of `manifest.json`; see the module's docstring."""

    format: int
    rows: int
    dimension: int
    dtype: str
    classes: tuple[str, ...]
    shards: tuple[ShardFile, ...]
    labels_sha256: str
    has_ids: bool
    provenance: dict[str, Any]
    content_hash: str


class Shards:
    """The rows of several memory-mapped arrays as one (n, d) array; slices are read on access."""

    def __init__(self, parts: Sequence[NDArray[Any]]) -> None:
        self.parts = parts
        self._ends = list(accumulate(len(part) for part in parts))
        self.shape = (self._ends[-1], parts[0].shape[1])
        self.dtype = parts[0].dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, step = rows.indices(len(self))
        if step != 1:
            return np.asarray(self)[rows]
        pieces = list(self.pieces(start, stop))
        return np.concatenate(pieces) if pieces else np.empty((0, self.shape[1]), dtype=self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = self[:]
        return whole if dtype is None else whole.astype(dtype)

    def pieces(self, start: int, stop: int) -> Iterator[NDArray[Any]]:
        """The rows from `start` to `stop`, as slices of the underlying arrays."""
        while start < stop:
            part = bisect_right(self._ends, start)
            first = self._ends[part] - len(self.parts[part])
            end = min(stop, self._ends[part])
            yield self.parts[part][start - first : end - first]
            start = end


def write_store(
    folder: Path,
    batches: Iterable[tuple[NDArray[Any], NDArray[Any]]],
    classes: Sequence[str],
    *,
    provenance: Mapping[str, Any],
    ids: Sequence[str] = (),
    dtype: str = "float32",
    shard_rows: int = SHARD_ROWS,
) -> str:
    """Write (X, y) batches as a store and return its content hash.

    Args:
        batches: X (rows, d) and y (rows,) labels, in order; only one shard is held in memory.
        provenance: stored in the manifest under `backbone`, `transform`, `source` and so on; must be JSON.
    """
    (folder / MANIFEST).unlink(missing_ok=True)
    shards: list[dict[str, Any]] = []
    labels: list[NDArray[np.int64]] = []
    for number, (X, y) in enumerate(_regrouped(batches, shard_rows)):
        where = f"{folder}, rows from {sum(map(len, labels))}"
        check_features(Features(X, y.astype(np.int64), tuple(classes)), where)
        shards.append(write_shard(folder, number, X, dtype=dtype, where=where))
        labels.append(y.astype(np.int64))
    if not shards:
        raise UserError(f"{folder}: no features to write")
    y_all = np.concatenate(labels)
    if ids and (len(ids) != len(y_all) or len(set(ids)) < len(ids)):
        raise UserError(f"{folder}: {len(y_all)} rows but {len(set(ids))} different ids")
    return finish_store(folder, shards, y_all, classes, provenance=provenance, ids=ids, dtype=dtype)


def shard_name(number: int) -> str:
    """The file name of a shard."""
    return f"X-{number:05d}.npy"


def write_shard(folder: Path, number: int, X: NDArray[Any], *, dtype: str, where: str) -> dict[str, Any]:
    """Write rows as one file and return its entry for the manifest.

    Args:
        where: name used in the error if the rows do not fit the dtype or are not finite.
    """
    if dtype not in DTYPES:
        raise UserError(f"features are stored as {' or '.join(DTYPES)}, not {dtype}")
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(X, dtype=dtype)
    if dtype == "float16" and np.isfinite(X).all() and not np.isfinite(rows).all():
        raise UserError(f"{folder}: values above 65504 do not fit float16; store these features as float32")
    bad, _ = flawed_rows(rows)
    if len(bad):
        raise UserError(f"{where}: values that are not finite in {row_numbers(bad.tolist())}; extract them again")
    name = shard_name(number)
    _save(folder / name, rows)
    return {
        "file": name,
        "rows": len(rows),
        "dimension": int(rows.shape[1]),
        "sha256": hashlib.sha256(rows.data).hexdigest(),
    }


def finish_store(
    folder: Path,
    shards: Sequence[Mapping[str, Any]],
    y: NDArray[np.int64],
    classes: Sequence[str],
    *,
    provenance: Mapping[str, Any],
    ids: Iterable[str],
    dtype: str,
) -> str:
    """Turn shards written by `write_shard`, in this order, into a store and return its content hash.

    Args:
        y: labels of all rows.
        ids: names of all rows, already checked to be unique and without line ends; or none.
    """
    _save(folder / "y.npy", y)
    names = iter(ids)
    first = next(names, None)
    if first is not None:
        with atomic_write(folder / "ids.txt") as file:
            file.write(first.encode())
            file.writelines(f"\n{name}".encode() for name in names)
    manifest = {
        "format": FORMAT,
        "rows": len(y),
        "dimension": shards[0]["dimension"],
        "dtype": dtype,
        "classes": list(classes),
        "shards": [{key: shard[key] for key in ("file", "rows", "sha256")} for shard in shards],
        "labels_sha256": hashlib.sha256(y.tobytes()).hexdigest(),
        "has_ids": first is not None,
        "provenance": dict(provenance),
    }
    manifest["content_hash"] = _content_hash(manifest)
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
    return str(manifest["content_hash"])


def _regrouped(
    batches: Iterable[tuple[NDArray[Any], NDArray[Any]]], rows: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The same samples in groups of `rows`, the last one possibly smaller."""
    waiting: list[tuple[NDArray[Any], NDArray[Any]]] = []
    count = 0
    for X, y in batches:
        if len(X) != len(y):
            raise UserError(f"a batch has {len(X)} rows but {len(y)} labels")
        waiting.append((X, y))
        count += len(X)
        while count >= rows:
            whole, labels = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
            yield whole[:rows], labels[:rows]
            waiting, count = [(whole[rows:], labels[rows:])], count - rows
    if count:
        whole, labels = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
        yield whole, labels


def _save(path: Path, array: NDArray[Any]) -> None:
    with atomic_write(path) as file:
        np.save(file, array, allow_pickle=False)


def _content_hash(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of the hashes of the data and of its meaning; the provenance is not included."""
    parts = {key: manifest[key] for key in ("rows", "dimension", "dtype", "classes", "labels_sha256")}
    parts["shards"] = [shard["sha256"] for shard in manifest["shards"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished store, with fields checked for types and consistency."""
    path = folder / MANIFEST
    if not path.is_file():
        if inside := sorted(found.parent for found in folder.glob(f"*/{MANIFEST}")):
            raise UserError(f"{folder}: contains feature stores; give one of them, such as '{inside[0]}'")
        raise UserError(f"{folder}: no {MANIFEST}, so its extraction is unfinished; run it again")
    record = read_json(path, "extract these features again")
    if record.get("format") != FORMAT:
        raise UserError(f"{path}: format {str(record.get('format'))[:20]}, this version reads {FORMAT}")
    manifest: Manifest = typed(record, Manifest, str(path))
    outside = next((shard.file for shard in manifest.shards if not is_plain_name(shard.file)), None)
    if outside is not None:
        raise UserError(f"{path}: refused, it names a file outside of its folder ({outside})")
    if not manifest.shards or manifest.content_hash != _content_hash(record):
        raise UserError(f"{folder}: its files do not match its manifest; extract these features again")
    return manifest


def read_store(folder: Path, *, verify: bool = False, again: bool = False, tell: Tell | None = None) -> Features:
    """Open a store; its rows stay on disk until they are used.

    Sizes, labels and the manifest's own hash are always checked.

    Args:
        verify: also check the bytes of every shard, unless that was done since they last changed, and count zero rows.
        again: check them in any case.
        tell: called with a sentence if that took time.
    """
    manifest = read_manifest(folder)
    files = [folder / shard.file for shard in manifest.shards]
    with reading(folder, "a feature store", "extract these features again"):
        for file in files:
            refuse_special(file)
        parts = [np.load(file, mmap_mode="r", allow_pickle=False) for file in files]
        y = read_npy(folder / "y.npy")
        ids = read_text(folder / "ids.txt").split("\n") if manifest.has_ids else ()
    expected = [((shard.rows, manifest.dimension), manifest.dtype) for shard in manifest.shards]
    if [(part.shape, str(part.dtype)) for part in parts] != expected or y.shape != (manifest.rows,):
        raise UserError(f"{folder}: its files do not match its manifest; extract these features again")
    if hashlib.sha256(y.tobytes()).hexdigest() != manifest.labels_sha256 or y.dtype != np.int64:
        raise UserError(f"{folder / 'y.npy'}: does not match the manifest; extract these features again")
    recorded, hashes = manifest.content_hash, [shard.sha256 for shard in manifest.shards]
    provenance = manifest.provenance | {"content_hash": recorded}
    features = Features(Shards(parts), y, manifest.classes, provenance, ids)
    if not verify:
        return features

    def check() -> Checked:
        zeros = _go_through(parts, dict(zip(files, hashes, strict=True)), folder)
        check_ids(features, str(folder))
        return Checked(recorded, zeros)

    checked = checked_once(folder, files, check, again=again, tell=tell)
    # A note copied with the shards of another store does not apply to this one.
    zeros = checked.zero_rows if checked.content_hash == recorded else check().zero_rows
    return replace(features, zero_rows=zeros)


def _go_through(parts: Sequence[NDArray[Any]], hashes: Mapping[Path, str], folder: Path) -> tuple[int, ...]:
    """Indices of zero rows; shards that do not match their hash and rows that are not finite are refused."""
    passes = go_through_parts(parts)
    for (file, digest), passed in zip(hashes.items(), passes, strict=True):
        if passed.digest.hexdigest() != digest:
            raise UserError(f"{file}: does not match the manifest; extract these features again")
    starts = list(accumulate((len(part) for part in parts), initial=0))
    bad, zeros = (
        tuple(start + row for start, rows in zip(starts, of, strict=False) for row in rows)
        for of in zip(*((passed.not_finite, passed.zeros) for passed in passes), strict=True)
    )
    refuse_not_finite(bad, str(folder))
    return zeros
