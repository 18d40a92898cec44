"""Reading features from a user's own files."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features import checked
from unseen.features.checked import Checked, Tell, checked_once
from unseen.features.features import Features, check_ids, check_labels, refuse_not_finite
from unseen.features.go_through import go_through
from unseen.features.mapped import check_stored, map_safetensors, map_stored, unpack
from unseen.features.store import read_store
from unseen.reading.guard import reading

SUFFIXES = (".npz", ".safetensors", ".pth", ".pt", ".npy")
LARGEST_LABEL = 1 << 53
NAMES = ("x", "y", "classes", "ids")
"""Names of the arrays that are read, in any case; other arrays are ignored."""


@dataclass(frozen=True, eq=False)
class OwnArrays:
    """The contents of a user's file.

    Attributes:
        arrays: the arrays used for features, with a large X memory-mapped if possible; `names` are the names of all
            arrays.
        files: the files with their bytes.
        check: refuses bytes that do not match the file's own checksum.
    """

    arrays: Mapping[str, NDArray[Any]]
    names: tuple[str, ...]
    files: tuple[Path, ...]
    check: Callable[[], None] = lambda: None

    def having(self, name: str, array: NDArray[Any]) -> "OwnArrays":
        return replace(self, arrays={**self.arrays, name: array})


def read_features(path: Path, *, again: bool = False, tell: Tell | None = None) -> Features:
    """Features from any of:

    - a feature store (a folder),
    - `.npz` or `.safetensors` with `X` (n × d) and `y` (n), and optionally `classes` (names by label) and `ids`,
    - `.pth` with a dictionary of tensors `X` and `Y`, as written by the ImageNet-CoG code,
    - `.npy` with X, beside a file with y: `X.npy` and `y.npy`, `X_train.npy` and `y_train.npy`, or `train_X.npy` (or
      `train.npy`) and `train_y.npy`.

    Labels may be any integers or strings: without `classes`, their sorted distinct values are the classes. Pickles
    inside are refused. A job is identified by the hash of its features, so all bytes are read and checked, but only
    once as long as the files do not change (`unseen.features.checked`).

    Args:
        again: check all bytes, regardless of earlier checks.
        tell: called with a sentence about work that took time and is not repeated next time.
    """
    if path.is_dir():
        return check_labels(read_store(path, verify=True, again=again, tell=tell), str(path))
    readers: dict[str, Callable[[Path, Tell | None], OwnArrays]] = {
        ".npz": _read_npz,
        ".safetensors": _read_safetensors,
        ".pth": _read_pth,
        ".pt": _read_pth,
        ".npy": _read_npy,
    }
    if not path.is_file():
        raise UserError(f"{path}: no such file or folder")
    if path.suffix not in readers:
        raise UserError(f"{path}: features are read from a folder, {', '.join(readers)}")
    with reading(path, f"features as {path.suffix}"):
        own = readers[path.suffix](path, tell)
        features = check_labels(_features(own, path), str(path))
    found = checked_once(path, own.files, lambda: _check(features, own, path), again=again, tell=tell)
    provenance = {"source": path.name, "content_hash": found.content_hash}
    return replace(features, provenance=provenance, zero_rows=found.zero_rows)


def _features(own: OwnArrays, path: Path) -> Features:
    lower = {name.lower(): array for name, array in own.arrays.items()}
    for name in ("x", "y"):
        if name not in lower:
            raise UserError(
                f"{path}: no array '{name.upper() if name == 'x' else name}' among {', '.join(own.names)}; "
                "save features (n × d) as X and labels (n) as y"
            )
    X, labels = np.asanyarray(lower["x"]), np.asarray(lower["y"])
    if not X.dtype.isnative and X.dtype.kind in "fiu":
        X = X.astype(X.dtype.newbyteorder("="))  # of the other byte order, which PyTorch cannot read
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        raise UserError(f"{path}: X is of type {X.dtype}; write it as float32 or float64")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    classes, y = _classes(labels, lower.get("classes"), path)
    ids = _texts(lower["ids"], "ids", path) if "ids" in lower else ()
    return Features(X, y, classes, ids=ids)


def _check(features: Features, own: OwnArrays, path: Path) -> Checked:
    """Read all bytes: the hash of X, labels and classes, and rows that are not finite or all zeros."""
    with ThreadPoolExecutor(1) as beside:
        checksum = beside.submit(own.check)
        passed = go_through(features.X)
        checksum.result()
    refuse_not_finite(passed.not_finite, str(path))
    check_ids(features, str(path))
    digest, X = passed.digest, features.X
    digest.update(np.ascontiguousarray(features.y).tobytes())
    digest.update(repr((X.dtype.str, X.shape, features.classes)).encode())
    return Checked(digest.hexdigest(), passed.zeros)


def _classes(labels: NDArray[Any], names: NDArray[Any] | None, path: Path) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Class names and the class index of each label: labels are indices into `names`, or names themselves."""
    words = labels.dtype.kind in "US"
    if labels.dtype.kind not in "USiubf" or (not words and not (np.abs(labels) < LARGEST_LABEL).all()):
        raise UserError(f"{path}: labels must be integers or strings, found {labels.dtype}")
    values = labels if words else labels.astype(np.int64)
    if (values != labels).any():
        raise UserError(f"{path}: labels must be integers or strings, found fractional numbers")
    known = None if names is None else _texts(names, "classes", path)
    if known is not None and not words:
        return known, values
    distinct, indices = np.unique(values, return_inverse=True)
    classes, y = tuple(map(str, distinct.tolist())), indices.reshape(labels.shape).astype(np.int64)
    unknown = sorted(set(classes) - set(known)) if known is not None else []
    if unknown:
        raise UserError(f"{path}: the label {unknown[0]} is not among its classes")
    return classes, y


def _texts(array: NDArray[Any], name: str, path: Path) -> tuple[str, ...]:
    if array.ndim != 1:
        raise UserError(f"{path}: '{name}' is a list of names, not an array of shape {array.shape}")
    return tuple(map(str, array.tolist()))


def _read_npz(path: Path, tell: Tell | None) -> OwnArrays:
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
        names = tuple(file.files)
        small = [name for name in _wanted(names) if name.lower() != "x"]
        own = OwnArrays({name: _plain(partial(file.__getitem__, name), name, path) for name in small}, names, (path,))
        large = next((name for name in names if name.lower() == "x"), None)
        if large is None:
            return own
        info = file.zip.getinfo(f"{large}.npy")
        if info.file_size < checked.WORTH_KEEPING:
            return own.having(large, file[large])
        mapped = map_stored(path, info)
        if mapped is not None:
            return replace(own.having(large, mapped), check=partial(check_stored, path, info))
        place = unpack(path, info, tell)
        if place is None:
            return own.having(large, file[large])
        return replace(own.having(large, np.load(place, "r", allow_pickle=False)), files=(path, place))


def _read_safetensors(path: Path, _: Tell | None) -> OwnArrays:
    if path.stat().st_size >= checked.WORTH_KEEPING and (mapped := map_safetensors(path)) is not None:
        return OwnArrays({name: mapped[name] for name in _wanted(mapped)}, tuple(mapped), (path,))
    import torch
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        names = tuple(file.keys())
        return OwnArrays({name: _as_array(file.get_tensor(name), torch) for name in _wanted(names)}, names, (path,))


def _read_pth(path: Path, _: Tell | None) -> OwnArrays:
    import torch

    # Files of PyTorch's first format, which are not archives, cannot be mapped.
    mapped = path.stat().st_size >= checked.WORTH_KEEPING and is_zipfile(path)
    content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected a dictionary with the tensors X and Y, found {type(content).__name__}")
    tensors = {name: value for name, value in content.items() if isinstance(value, torch.Tensor)}
    arrays = {name: _as_array(tensors[name], torch) for name in _wanted(tensors)}
    return OwnArrays(arrays, tuple(map(str, tensors)), (path,))


def _as_array(tensor: Any, torch: Any) -> NDArray[Any]:
    array: NDArray[Any] = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return array


def _read_npy(path: Path, _: Tell | None) -> OwnArrays:
    stem = path.stem
    if stem.endswith("X"):
        candidates = [f"{stem[:-1]}y", f"{stem[:-1]}Y"]
    elif stem.startswith(("X_", "X-")):
        candidates = [f"y{stem[1:]}", f"Y{stem[1:]}"]
    else:
        candidates = [f"{stem}_y", f"{stem}_labels"]
    beside = [path.with_name(f"{name}.npy") for name in candidates]
    labels = next((file for file in beside if file.is_file()), None)
    if labels is None:
        raise UserError(f"{path}: no labels beside it; expected {beside[0].name} or {beside[1].name}")
    large = path.stat().st_size >= checked.WORTH_KEEPING
    y = _plain(partial(np.load, labels, allow_pickle=False), "y", labels)
    arrays = {"X": np.load(path, "r" if large else None, allow_pickle=False), "y": y}
    return OwnArrays(arrays, ("X", "y"), (path, labels))


def _plain(load: Callable[[], NDArray[Any]], name: str, path: Path) -> NDArray[Any]:
    """The array that `load` reads. Strings from pandas are often saved as objects, which NumPy pickles."""
    try:
        return load()
    except ValueError as error:
        if not str(error).startswith("Object arrays"):
            raise
        raise UserError(
            f"{path}: {name} is an array of Python objects, which are not unpickled; save {name}.astype(str) instead"
        ) from None


def _wanted(names: Iterable[object]) -> list[str]:
    return [name for name in names if isinstance(name, str) and name.lower() in NAMES]
