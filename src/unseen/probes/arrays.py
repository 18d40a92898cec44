"""Array helpers for several probes: checks, blocks of rows, sums by group, frames that scale values near 1."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from unseen.errors import UserError, row_numbers
from unseen.metrics.geometry import unit_rows

LARGEST = 1e100
"""Squares of larger numbers exceed the range of float64."""


def checked_features(X: Tensor, name: str) -> Tensor:
    """X detached from its gradient history, if it is an (n, d) matrix of finite real numbers with n, d ≥ 1."""
    if X.ndim != 2 or X.numel() == 0:
        raise UserError(f"the {name} features must be a matrix of samples by dimensions, not of shape {tuple(X.shape)}")
    if X.is_complex():
        raise UserError(f"the {name} features are complex numbers; give real ones")
    low, high = (float(end) for end in torch.aminmax(X.detach()))
    if not (math.isfinite(low) and math.isfinite(high)):
        bad = torch.where(~torch.isfinite(X.detach()).all(dim=1))[0].tolist()
        raise UserError(f"the {name} features contain values that are not finite: {row_numbers(bad)}")
    if max(-low, high) > LARGEST:
        raise UserError(f"the {name} features reach {max(-low, high):.0e}; scale them below {LARGEST:.0e}")
    return X.detach()


def checked_labels(y: Tensor, X: Tensor, name: str) -> Tensor:
    """y as int64 on the device of X, if it has one class index from 0 for each row of X."""
    if y.shape != (len(X),):
        raise UserError(f"{name} features of shape {tuple(X.shape)} do not match labels of shape {tuple(y.shape)}")
    if y.is_floating_point() or y.is_complex() or int(y.min()) < 0:
        raise UserError(f"the {name} labels must be class indices from 0")
    return y.to(X.device, torch.int64)


def common_classes(y_train: Tensor, y_test: Tensor) -> int:
    """The number of classes, if labels are class indices from 0 without gaps and both parts have all of them."""
    for name, y in (("training", y_train), ("test", y_test)):
        if y.ndim != 1 or len(y) == 0 or y.is_floating_point() or y.is_complex() or int(y.min()) < 0:
            raise UserError(f"the {name} labels must be class indices from 0, one per sample")
    there, tested = torch.unique(y_train).tolist(), torch.unique(y_test).tolist()
    if odd := sorted(set(there) ^ set(tested)):
        where = "training" if odd[0] in tested else "test"
        raise UserError(f"class {odd[0]} has no {where} sample; every class needs both")
    if there != list(range(len(there))):
        raise UserError(f"class indices must run from 0 to {len(there) - 1} without gaps")
    if len(there) < 2:
        raise UserError("a classifier needs at least two classes")
    return len(there)


def row_blocks(rows: int, row_bytes: int, device: torch.device) -> Iterator[slice]:
    """Slices of rows whose temporary results stay within 16 MiB on a CPU (its cache), and 1 GiB elsewhere."""
    budget = (16 if device.type == "cpu" else 1024) << 20
    step = max(1, budget // max(1, row_bytes))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def column_means(X: Tensor) -> Tensor:
    """(d,) means of the columns in float64, for any dtype of X; X is read once, in blocks."""
    total = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    for rows in row_blocks(len(X), 8 * X.shape[1], X.device):
        total += X[rows].double().sum(dim=0)
    return total / len(X)


def group_sums(X: Tensor, groups: Tensor, count: int, rows: Tensor | None = None) -> Tensor:
    """(count, d) sums of the rows of each group, in a deterministic order.

    The rows are sorted by group and each sum is taken over its segment in order, so on one device equal input gives
    bit-identical sums, unlike atomic additions. n·d additions; X is read once and not copied.

    Args:
        X: (n, d), float32 or float64.
        groups: (m,) in [0, count), one for each of `rows`.
        rows: (m,) indices into X; by default all in order.
    """
    in_order, order = torch.sort(groups, stable=True)
    starts = torch.searchsorted(in_order, torch.arange(count, device=X.device))
    return embedding_bag(order if rows is None else rows[order], X, starts, mode="sum")


@dataclass(frozen=True)
class Frame:
    """A shift and a scale that bring features near 0 and to magnitudes of at most about 1.

    Squared distances in float32 then neither overflow nor lose digits to a common offset. The scale is a power of two,
    so scaling is exact.

    Attributes:
        origin: (d,) float64.
    """

    origin: Tensor
    unit: float

    @staticmethod
    def of(X: Tensor) -> "Frame":
        """Mean 0, and the largest magnitude in [½, 1]."""
        origin = column_means(X)
        spread = torch.maximum(X.amax(dim=0).double() - origin, origin - X.amin(dim=0).double())
        greatest = float(spread.max())
        # Beyond 2±¹²⁰ the unit or its inverse would exceed the range of float32.
        exponent = min(max(math.ceil(math.log2(greatest)), -120), 120) if greatest > 0 else 0
        return Frame(origin, 2.0**exponent)

    def enter(self, X: Tensor) -> Tensor:
        """A float32 copy of X in this frame; the shift is computed in float64 if X has more precision than float32."""
        fine = torch.float64 if X.dtype in {torch.float64, torch.int32, torch.int64} else torch.float32
        origin = (self.origin / self.unit).to(fine)
        inside = torch.empty(X.shape, dtype=torch.float32, device=X.device)
        for rows in row_blocks(len(X), 8 * X.shape[1], X.device):
            inside[rows] = X[rows].to(fine).mul(1 / self.unit).sub_(origin)
        return inside

    def leave(self, inside: Tensor) -> Tensor:
        """Float64 features from values in this frame."""
        return inside.double() * self.unit + self.origin


def directions(X: Tensor) -> Tensor:
    """A float32 copy of X with rows of length 1; a row of zeros stays zero."""
    units = torch.empty(X.shape, dtype=torch.float32, device=X.device)
    for rows in row_blocks(len(X), 16 * X.shape[1], X.device):
        units[rows] = unit_rows(X[rows])
    return units
