"""Features from a user's own files."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.features import Features, check_features
from unseen.features.store import read_store

Arrays = Mapping[str, NDArray[Any]]


def read_features(path: Path) -> Features:
    """Features from any of:

    - a feature store (a folder),
    - `.npz` or `.safetensors` with `X` (n × d) and `y` (n), and if wanted `classes` (names by label) and `ids`,
    - `.pth` with a dictionary of tensors `X` and `Y`, as the ImageNet-CoG code writes it,
    - `.npy` with X, beside a file with y: `X.npy` and `y.npy`, or `train_X.npy` (or `train.npy`) and `train_y.npy`.

    Labels may be any integers or strings: without `classes`, their sorted distinct values are the classes. Pickles
    inside are refused.
    """
    if path.is_dir():
        # A job is named by the hash of its features: what is on disk must be what the manifest says.
        return check_features(read_store(path, verify=True), str(path))
    readers: dict[str, Callable[[Path], Arrays]] = {
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
    try:
        arrays = readers[path.suffix](path)
    except UserError:
        raise
    except Exception as error:  # every reader fails in its own way on a damaged file
        reason = "it holds pickled objects, or is no such file" if "allow_pickle" in str(error) else str(error)
        reason = next(iter(reason.splitlines()), type(error).__name__)
        raise UserError(f"{path}: cannot be read as {path.suffix} ({reason})") from None
    return check_features(_features(arrays, path), str(path))


def _features(arrays: Arrays, path: Path) -> Features:
    lower = {name.lower(): array for name, array in arrays.items() if isinstance(name, str)}
    for name in ("x", "y"):
        if name not in lower:
            raise UserError(
                f"{path}: no array '{name.upper() if name == 'x' else name}' among {', '.join(map(str, arrays))}"
            )
    X, labels = np.asarray(lower["x"]), np.asarray(lower["y"])
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    classes, y = _classes(labels, lower.get("classes"), path)
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    digest.update(np.ascontiguousarray(y).tobytes())
    digest.update(repr((X.dtype.str, X.shape, classes)).encode())
    ids = tuple(map(str, lower["ids"].tolist())) if "ids" in lower else ()
    return Features(X, y, classes, {"source": path.name, "content_hash": digest.hexdigest()}, ids)


def _classes(labels: NDArray[Any], names: NDArray[Any] | None, path: Path) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of the classes and the index of each label's: labels are indices into `names`, or names themselves."""
    words = labels.dtype.kind in "US"
    if labels.dtype.kind not in "USiubf" or (labels.dtype.kind == "f" and not (labels == np.round(labels)).all()):
        raise UserError(f"{path}: labels must be integers or strings, found {labels.dtype}")
    values = labels if words else labels.astype(np.int64)
    if names is not None and not words:
        return tuple(map(str, names.tolist())), values
    distinct, indices = np.unique(values, return_inverse=True)
    classes, y = tuple(map(str, distinct.tolist())), indices.reshape(labels.shape).astype(np.int64)
    unknown = sorted(set(classes) - set(map(str, names.tolist()))) if names is not None else []
    if unknown:
        raise UserError(f"{path}: the label {unknown[0]} is not among its classes")
    return classes, y


def _read_npz(path: Path) -> Arrays:
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
        return dict(file.items())


def _read_safetensors(path: Path) -> Arrays:
    import torch
    from safetensors.torch import load_file

    return {name: _as_array(tensor, torch) for name, tensor in load_file(path).items()}


def _read_pth(path: Path) -> Arrays:
    import torch

    content = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected a dictionary with the tensors X and Y, found {type(content).__name__}")
    return {name: _as_array(value, torch) for name, value in content.items() if isinstance(value, torch.Tensor)}


def _as_array(tensor: Any, torch: Any) -> NDArray[Any]:
    array: NDArray[Any] = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return array


def _read_npy(path: Path) -> Arrays:
    stem = path.stem
    candidates = [f"{stem[:-1]}y", f"{stem[:-1]}Y"] if stem.endswith("X") else [f"{stem}_y", f"{stem}_labels"]
    beside = [path.with_name(f"{name}.npy") for name in candidates]
    labels = next((file for file in beside if file.is_file()), None)
    if labels is None:
        raise UserError(f"{path}: no labels beside it; expected {beside[0].name} or {beside[1].name}")
    return {name: np.load(file, allow_pickle=False) for name, file in (("X", path), ("y", labels))}
