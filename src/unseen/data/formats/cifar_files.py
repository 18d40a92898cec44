"""CIFAR as distributed by its authors, as Python pickles or as binary batches.

The pickles, written by Python 2, are read without executing them (`unseen.reading.pickles`). Both versions contain the
same images in the same order, 3072 bytes each: all red values, then green, then blue.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.rows import Listing, numbered, pixels_listing
from unseen.errors import UserError
from unseen.files import refuse_pointer, refuse_special
from unseen.reading.pickles import PickledArray, read_plain_pickle

SIDE = 32
PIXELS = 3 * SIDE * SIDE
Bytes = NDArray[np.uint8]


def python_batches(
    place: Path, train: Sequence[str], test: Sequence[str], meta: str, names: str, labels: str
) -> Listing:
    """Images from pickled batches.

    Args:
        train, test: files in order.
        meta, names: the file with the class names, and its field that holds them.
        labels: the field of a batch that holds the classes of its images.
    """
    classes = _names(place / meta, names)
    rows = []
    parts: list[Bytes] = []
    for part, files in (("train", train), ("test", test)):
        batches = [_batch(place / file, labels, len(classes)) for file in files]
        rows += numbered((classes[number] for _, numbers in batches for number in numbers), part)
        parts += [data for data, _ in batches]
    return pixels_listing(rows, partial(_pixels, parts))


def binary_batches(place: Path, train: Sequence[str], test: Sequence[str], names: str, label_bytes: int) -> Listing:
    """Images from binary records: `label_bytes` bytes, of which the last is the class, and 3072 bytes of pixels."""
    refuse_special(place / names)
    try:
        classes = (place / names).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{place / names}: cannot be read; expected the name of a class on each line") from None
    rows = []
    parts: list[Bytes] = []
    for part, files in (("train", train), ("test", test)):
        batches = [_records(place / file, label_bytes, len(classes)) for file in files]
        rows += numbered((classes[label] for records in batches for label in records[:, label_bytes - 1]), part)
        parts += [records[:, label_bytes:] for records in batches]
    return pixels_listing(rows, partial(_pixels, parts))


def _pixels(parts: Sequence[Bytes]) -> Bytes:
    planes = np.concatenate(parts).reshape(-1, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1))


def _records(path: Path, label_bytes: int, classes: int) -> Bytes:
    refuse_pointer(path)
    try:
        data = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) == 0 or len(data) % (label_bytes + PIXELS):
        raise UserError(f"{path}: {len(data):,} bytes, not a multiple of the record size, {label_bytes} + {PIXELS:,}")
    records = data.reshape(-1, label_bytes + PIXELS)
    if records[:, label_bytes - 1].max() >= classes:
        raise UserError(f"{path}: a class beyond the {classes} that have names")
    return records


def _load(path: Path) -> dict[bytes, Any]:
    content = read_plain_pickle(path, encoding="bytes")
    if not isinstance(content, dict):
        raise UserError(f"{path}: not a CIFAR pickle, since it does not contain a dictionary")
    return {key.encode() if isinstance(key, str) else key: value for key, value in content.items()}


def _names(path: Path, field: str) -> list[str]:
    names = _load(path).get(field.encode())
    if not isinstance(names, list) or not names or not all(isinstance(name, str | bytes) for name in names):
        raise UserError(f"{path}: contains no list '{field}' of class names")
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in names]


def _batch(path: Path, field: str, classes: int) -> tuple[Bytes, list[int]]:
    content = _load(path)
    data, labels = content.get(b"data"), content.get(field.encode())
    pixels = data[0] if isinstance(data, PickledArray) and data else None
    are_bytes = isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8 and pixels.shape[1:] == (PIXELS,)
    if not isinstance(pixels, np.ndarray) or not are_bytes or not isinstance(labels, list):
        raise UserError(f"{path}: expected images of {PIXELS:,} bytes under 'data' and a list '{field}'")
    if len(labels) != len(pixels) or not all(isinstance(n, int) and 0 <= n < classes for n in labels):
        raise UserError(f"{path}: {len(pixels):,} images but {len(labels):,} labels, or a class without a name")
    return pixels, labels
