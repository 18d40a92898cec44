"""CIFAR as its authors distribute it: batches that are Python pickles, or plain bytes.

The pickles, which Python 2 wrote, are not run: of what a pickle can name, only what rebuilds an array of bytes is
admitted, and rebuilt here. Both kinds hold the same images in the same order, each 3072 bytes: all of red, then green,
then blue.
"""

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.images.datasets.listing import Listing, numbered, pixels_listing

SIDE = 32
PIXELS = 3 * SIDE * SIDE
Bytes = NDArray[np.uint8]


class _ByteArray:
    """Stands in for `numpy.ndarray`: keeps shape and bytes, if those are what its state brings."""

    def __init__(self, *_: object) -> None:
        self.array: Bytes = np.empty(0, dtype=np.uint8)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, fortran, data = state
        if dtype.code not in {"u1", "|u1"} or not isinstance(data, bytes) or len(data) != prod(shape):
            raise pickle.UnpicklingError("an array that is not of bytes")
        self.array = np.frombuffer(data, dtype=np.uint8).reshape(shape, order="F" if fortran else "C")


class _Dtype:
    """Stands in for `numpy.dtype`."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code = code.decode("latin-1") if isinstance(code, bytes) else code

    def __setstate__(self, _: object) -> None:
        """Its byte order and alignment are of no matter to bytes."""


def _latin_bytes(text: str, _: str) -> bytes:
    """Python 3 writes bytes for old readers as latin-1 text to be encoded."""
    return text.encode("latin-1")


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _ByteArray,
    ("numpy.core.multiarray", "_reconstruct"): _ByteArray,
    ("numpy._core.multiarray", "_reconstruct"): _ByteArray,
    ("_codecs", "encode"): _latin_bytes,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not an array of bytes")
        return _ADMITTED[module, name]


def python_batches(
    place: Path, train: Sequence[str], test: Sequence[str], meta: str, names: str, labels: str
) -> Listing:
    """Images from pickles.

    Args:
        train, test: files in order.
        meta, names: the file with the names of classes, and its field of them.
        labels: the field of batches that holds the classes of their images.
    """
    classes = _names(place / meta, names)
    rows = []
    parts: list[Bytes] = []
    for part, files in (("train", train), ("test", test)):
        found = [_batch(place / file, labels, len(classes)) for file in files]
        rows += numbered((classes[number] for _, numbers in found for number in numbers), part)
        parts += [data for data, _ in found]
    return pixels_listing(rows, partial(_pixels, parts))


def binary_batches(place: Path, train: Sequence[str], test: Sequence[str], names: str, label_bytes: int) -> Listing:
    """Images from plain bytes: records of a class, in the last of `label_bytes` bytes, and 3072 of pixels."""
    try:
        classes = (place / names).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{place / names}: cannot be read; expected the name of a class on each line") from None
    rows = []
    parts: list[Bytes] = []
    for part, files in (("train", train), ("test", test)):
        found = [_records(place / file, label_bytes, len(classes)) for file in files]
        rows += numbered((classes[label] for records in found for label in records[:, label_bytes - 1]), part)
        parts += [records[:, label_bytes:] for records in found]
    return pixels_listing(rows, partial(_pixels, parts))


def _pixels(parts: Sequence[Bytes]) -> Bytes:
    planes = np.concatenate(parts).reshape(-1, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1))


def _records(path: Path, label_bytes: int, classes: int) -> Bytes:
    try:
        data = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) == 0 or len(data) % (label_bytes + PIXELS):
        raise UserError(f"{path}: {len(data):,} bytes, which are not records of {label_bytes} + {PIXELS:,}")
    records = data.reshape(-1, label_bytes + PIXELS)
    if records[:, label_bytes - 1].max() >= classes:
        raise UserError(f"{path}: a class beyond the {classes} that have names")
    return records


def _load(path: Path) -> dict[bytes, Any]:
    try:
        with path.open("rb") as file:
            content = _Reader(file, encoding="bytes").load()
        if not isinstance(content, dict):
            raise pickle.UnpicklingError("it holds no dictionary")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # a damaged pickle can raise anything at all
        raise UserError(f"{path}: refused, not a pickle of CIFAR ({str(error) or type(error).__name__})") from None
    return {key.encode() if isinstance(key, str) else key: value for key, value in content.items()}


def _names(path: Path, field: str) -> list[str]:
    names = _load(path).get(field.encode())
    if not isinstance(names, list) or not names or not all(isinstance(name, str | bytes) for name in names):
        raise UserError(f"{path}: no list '{field}' of the names of classes in it")
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in names]


def _batch(path: Path, field: str, classes: int) -> tuple[Bytes, list[int]]:
    content = _load(path)
    data, labels = content.get(b"data"), content.get(field.encode())
    if not isinstance(data, _ByteArray) or data.array.shape[1:] != (PIXELS,) or not isinstance(labels, list):
        raise UserError(f"{path}: expected images of {PIXELS:,} bytes under 'data' and a list '{field}'")
    if len(labels) != len(data.array) or not all(isinstance(n, int) and 0 <= n < classes for n in labels):
        raise UserError(f"{path}: {len(data.array):,} images but {len(labels):,} labels, or a class without a name")
    return data.array, labels
