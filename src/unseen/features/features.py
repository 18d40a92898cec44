"""Features: one vector and one class per image."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, names_of, row_numbers

BLOCK = 65_536
LOOKED_AT = 1 << 19
"""Bytes of values examined at a time, so that they and temporary results fit in a processor's cache."""
INTEGER = re.compile(r"[+-]?[0-9]+")


class Rows(Protocol):
    """An (n, d) array, or an object that provides its rows without loading all into memory."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class Features:
    """Vectors and classes of some images.

    Attributes:
        X: (n, d) numbers.
        y: (n,) class indices into `classes`.
        classes: names, by index.
        provenance: known origin (backbone, transform, source, content hash).
        ids: (n,) names of the images, or empty.
        zero_rows: indices of rows that are all zeros, if `check_features` has looked for them. They are valid features
            without a direction: ℓ2-normalisation leaves them unchanged.
    """

    X: Rows
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    ids: Sequence[str] = ()
    zero_rows: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Features({len(self):,} rows × {self.dimension} dimensions, {len(self.classes):,} classes)"

    @property
    def dimension(self) -> int:
        return self.X.shape[1]


def check_features(features: Features, where: str) -> Features:
    """The same features with `zero_rows` set, if they are valid; otherwise an error that names the file.

    Refused: everything `check_labels` and `check_ids` refuse, and rows that are not finite.
    """
    check_labels(features, where)
    bad, zeros = list[int](), list[int]()
    for start in range(0, len(features), BLOCK):
        flawed = flawed_rows(np.asarray(features.X[start : start + BLOCK]))
        bad += (start + flawed[0]).tolist()
        zeros += (start + flawed[1]).tolist()
    refuse_not_finite(bad, where)
    check_ids(features, where)
    return replace(features, zero_rows=tuple(zeros))


def check_labels(features: Features, where: str) -> Features:
    """The same features, if X is an (n, d) array of numbers and each row has the label of a class."""
    X, y = features.X, features.y
    if len(X.shape) != 2 or X.shape[1] == 0 or not np.issubdtype(X.dtype, np.number):
        raise UserError(f"{where}: X must be an (n, d) array of numbers, found shape {tuple(X.shape)}, {X.dtype}")
    if np.issubdtype(X.dtype, np.complexfloating):
        raise UserError(f"{where}: X has complex numbers")
    if y.ndim != 1 or len(y) != len(X):
        raise UserError(f"{where}: {len(X)} rows but labels of shape {tuple(y.shape)}")
    if len(y) == 0:
        raise UserError(f"{where}: no rows")
    if len(set(features.classes)) < len(features.classes):
        twice = next(name for name in features.classes if features.classes.count(name) > 1)
        raise UserError(f"{where}: two classes are called {twice}; give them different names")
    wrong = np.flatnonzero((y < 0) | (y >= len(features.classes)))
    if len(wrong):
        limit = len(features.classes)
        raise UserError(f"{where}: row {wrong[0]} has label {y[wrong[0]]}, but there are {limit} classes, from 0")
    return features


def refuse_not_finite(rows: Sequence[int], where: str) -> None:
    """Refuse features if any rows are not finite."""
    if rows:
        raise UserError(f"{where}: values that are not finite in {row_numbers(rows)}; extract these features again")


def check_ids(features: Features, where: str) -> None:
    """Refuse ids that are repeated or do not match the number of rows."""
    if features.ids:
        if len(features.ids) != len(features):
            raise UserError(f"{where}: {len(features)} rows but {len(features.ids)} ids")
        values, counts = np.unique(np.asarray(features.ids), return_counts=True)
        if (counts > 1).any():
            raise UserError(f"{where}: the id {values[counts > 1][0]} occurs {counts.max()} times")


def flawed_rows(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the rows that are not finite, and of those that are all zeros."""
    size = rows.dtype.itemsize
    if rows.dtype.kind != "f" or not rows.dtype.isnative or size > 8 or not rows.flags.c_contiguous:
        return np.flatnonzero(~np.isfinite(rows).all(axis=1)), np.flatnonzero(~rows.any(axis=1))
    # Ignoring the sign bit, IEEE floats are ordered like integers of the same bits, with infinity and NaN last. NumPy
    # computes the maximum of integers far faster than it examines 16-bit floats.
    bits = np.dtype(f"u{size}")
    unsigned, infinite = np.array((1 << (8 * size - 1)) - 1, bits), np.array(np.inf, rows.dtype).view(bits)
    step = max(1, LOOKED_AT // max(1, rows[:1].nbytes))
    parts = [(rows[i : i + step].view(bits) & unsigned).max(axis=1) for i in range(0, len(rows), step)]
    greatest = np.concatenate(parts) if parts else np.empty(0, bits)
    return np.flatnonzero(greatest >= infinite), np.flatnonzero(greatest == 0)


def align(train: Features, test: Features, where: str = "the features") -> tuple[Features, Features]:
    """Both with the same classes, in the order of their names in `train`, and indices without gaps.

    A class that occurs in only one of them, or a different dimension, is an error.
    """
    if train.dimension != test.dimension:
        raise UserError(f"{where}: training features have {train.dimension} dimensions, test features {test.dimension}")
    there, tested = (set(np.unique(part.y).tolist()) for part in (train, test))
    names = [name for index, name in enumerate(train.classes) if index in there]
    test_names = {name for index, name in enumerate(test.classes) if index in tested}
    _refuse_other_kind(names, sorted(test_names), where)
    _refuse_classes([name for name in names if name not in test_names], "no test sample", where)
    _refuse_classes(sorted(test_names.difference(names)), "test samples but no training sample", where)
    index = {name: i for i, name in enumerate(names)}

    def relabelled(part: Features) -> Features:
        table = np.array([index.get(name, -1) for name in part.classes], dtype=np.int64)
        return replace(part, y=table[part.y], classes=tuple(names))

    return relabelled(train), relabelled(test)


def _refuse_classes(names: Sequence[str], has: str, where: str) -> None:
    """Refuse classes that only one side has; the message names the first few."""
    if names:
        called = f"class {names[0]} has" if len(names) == 1 else f"the classes {names_of(names)} have"
        raise UserError(f"{where}: {called} {has}; add samples, or leave out classes that only one side has")


def _refuse_other_kind(train: Sequence[str], test: Sequence[str], where: str) -> None:
    """Refuse strings on one side and integers on the other, which would otherwise be reported class by class."""
    numbered = [all(INTEGER.fullmatch(name) for name in names) for names in (train, test)]
    if numbered[0] != numbered[1] and not set(train) & set(test):
        kinds = [
            f"{'integers' if kind else 'words'} ({names[0]}, …)"
            for kind, names in zip(numbered, (train, test), strict=True)
        ]
        raise UserError(
            f"{where}: the labels are of different types, {kinds[0]} for training and {kinds[1]} for testing; "
            "give both as words, or both as integers"
        )
