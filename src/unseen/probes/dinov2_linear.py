"""The linear evaluation of DINOv2: classifiers on several inputs with many learning rates, the best on validation data.

Oquab et al. 2023, with the details of their public code (`dinov2/eval/linear.py`): the inputs are ranges of columns of
one feature vector (`unseen.probes.sgd.grid_protocol`), all classifiers see the same batches, and what is reported is
the classifier as it was trained, without a refit. Features are not normalised.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.features.device_memory import free_bytes
from unseen.features.features import Rows
from unseen.probes.arrays import common_classes
from unseen.probes.rows import blocks
from unseen.probes.sampling import split_validation, stream
from unseen.probes.sgd.grid import grid_bytes, train_grid
from unseen.probes.sgd.grid_protocol import DINOV2_LINEAR, GridProtocol, Range, whole
from unseen.probes.sgd.rows import ColumnsOf, Resident, Streamed
from unseen.probes.sgd.scoring import accuracies, final_hits
from unseen.probes.sgd.trainer import MANY

ROUNDED = 2.0**-10
"""Largest error of features rounded to 16 bits, relative to their length; below 2⁻¹¹ in the range of these numbers."""
NAMES = ("training", "test", "validation")
"""Names of the parts of the data, in the order in which they are loaded."""
Need = Callable[[int, int], int]
"""Bytes that training needs beside the features, from the number of rates and the bytes of a factor in products."""
Part = tuple[Tensor | Rows, Tensor]
"""(n, d) features of any real dtype, which are not modified, and their (n,) class indices."""


@dataclass(frozen=True)
class Classifier:
    """The classifier on an input that is best on validation data.

    Attributes:
        rate: its learning rate, as for 256 samples per step.
        validation: top-1 accuracy on validation data for each learning rate; None if that classifier diverged.
        edge: the end of the rates at which its own is, if any: there may be a better one beyond.
        hits: (n,) whether each test sample is classified correctly, on the CPU.
        weights, bias: (c, d) and (c,), on the CPU.
    """

    input: Range
    rate: float
    validation: tuple[float | None, ...]
    edge: Literal["smallest", "largest"] | None
    top1: float
    top5: float
    hits: Tensor = field(compare=False, repr=False)
    weights: Tensor = field(compare=False, repr=False)
    bias: Tensor = field(compare=False, repr=False)


@dataclass(frozen=True)
class Diverged:
    """An input without a classifier whose weights and scores are finite.

    Attributes:
        validation: as of a `Classifier`; None too for a classifier whose scores on test data are not finite.
    """

    input: Range
    validation: tuple[float | None, ...]


@dataclass(frozen=True)
class Grid:
    """The best classifier on each input.

    Attributes:
        classifiers: those on inputs that have one.
        diverged: the other inputs.
        best: the best of them on validation data; among equals the first, as in the public code.
        products: dtype of the factors in products, "float16" or "float32".
    """

    classifiers: tuple[Classifier, ...]
    diverged: tuple[Diverged, ...]
    best: Classifier
    products: str


def dinov2_linear(
    train: Part,
    test: Part,
    ranges: Sequence[Range] = (),
    *,
    validation: Part | None = None,
    protocol: GridProtocol = DINOV2_LINEAR,
    seed: int = 0,
    device: str | torch.device = "cpu",
    products: torch.dtype | None = None,
    rates: Sequence[Sequence[float]] | None = None,
) -> Grid:
    """Train a classifier with every learning rate on every input, and test the best of each input.

    The classifiers of an input share their initial weights, and all classifiers the order of samples; both depend only
    on `seed`. Features that do not fit into GPU memory are streamed, and if the classifiers do not, they are trained
    with some of the rates at a time.

    Args:
        ranges: the inputs; by default the whole vector.
        validation: by default a share of each class's training samples, which are then not trained on.
        products: dtype of the factors in products, float32 or float16, with sums, weights and momentum in 32 bits; by
            default 16 bits on a GPU, 32 on a CPU. Features that 16 bits cannot represent are multiplied in 32.
        rates: for each input, the rates to train with, equally many; by default those of the protocol.
    """
    place = torch.device(device)
    classes = _check(train, validation, test)
    inputs = tuple(ranges) or whole(train[0].shape[1])
    tried = [list(each) for each in rates or [protocol.rates] * len(inputs)]
    need = partial(_need, inputs, classes, train[0].shape[1], protocol, gpu=place.type == "cuda")
    loaded = _load([train, test] if validation is None else [train, test, validation], place, products, need)
    y = train[1].long().cpu()
    if validation is None:
        kept, held = split_validation(y, protocol.validation, stream(seed, 0))
        if len(held) == 0:
            raise UserError("every class has a single training sample, so none is left to choose the learning rate on")
        scored = _Part(loaded.parts[0], held, y[held])
    else:
        kept = torch.arange(len(y))
        scored = _Part(loaded.parts[2], torch.arange(len(validation[1])), validation[1].long().cpu())
    found = [_Search(each, rates) for each, rates in zip(inputs, tried, strict=True)]
    most = bisect_right(range(1, len(tried[0]) + 1), free_bytes(place), key=lambda k: need(k, loaded.dtype.itemsize))
    if most == 0:
        raise UserError(
            f"a classifier of {classes} classes on each of {len(inputs)} inputs needs "
            f"{need(1, loaded.dtype.itemsize) / 2**30:.1f} GiB of device memory; use a device with more, or the CPU"
        )
    for start in range(0, len(tried[0]), most):
        generator = stream(seed, 2)  # the same initial weights and the same batches for all rates
        initial = [protocol.deviation * torch.randn(each.width, classes, generator=generator) for each in inputs]
        weights = train_grid(
            loaded.parts[0],
            y.to(place),
            kept,
            inputs,
            initial,
            [protocol.scale * torch.tensor(some[start : start + most], dtype=torch.float64) for some in tried],
            steps=protocol.steps,
            batch=protocol.batch,
            momentum=protocol.momentum,
            generator=generator,
            dtype=loaded.dtype,
        )
        for each in found:
            each.add(weights.pop(0), scored)
    tested = [(each.best, each.tested(loaded.parts[1], test[1].long().cpu())) for each in found]
    chosen = [(score, each) for score, each in tested if isinstance(each, Classifier)]
    if not chosen:
        raise UserError(
            f"no classifier on {' or '.join(each.name for each in inputs)} has finite weights and scores, with any "
            "learning rate; the features may be too large: divide them by their mean length"
        )
    _, best = max(chosen, key=lambda pair: pair[0])
    diverged = tuple(each for _, each in tested if isinstance(each, Diverged))
    return Grid(tuple(each for _, each in chosen), diverged, best, str(loaded.dtype).removeprefix("torch."))


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows of a source, by their index on the host, and their classes."""

    source: Resident | Streamed
    index: Tensor
    y: Tensor


class _Search:
    """The best classifier on an input so far."""

    def __init__(self, columns: Range, rates: Sequence[float]) -> None:
        self.input, self.rates = columns, rates
        self.scores, self.best = list[float | None](), -1.0
        self.weights: Tensor | None = None

    def add(self, weights: Tensor, part: _Part) -> None:
        """Score further classifiers, (k, d + 1, c), on validation data, and keep the best; the first among equals."""
        scores = accuracies(ColumnsOf(part.source, self.input.columns), part.index, part.y, weights)[0].tolist()
        for each, score, sound in zip(weights, scores, weights[:, -1].isfinite().all(dim=1).tolist(), strict=True):
            if sound and score > self.best:
                self.best, self.weights, self._place = score, each[None].clone(), len(self.scores)
            self.scores.append(score if sound else None)

    def tested(self, source: Resident | Streamed, y: Tensor) -> Classifier | Diverged:
        """The best on test data."""
        columns = ColumnsOf(source, self.input.columns)
        hits = None if self.weights is None else final_hits(columns, y, self.weights, (1, 5))
        if self.weights is None:
            return Diverged(self.input, tuple(self.scores))
        if hits is None:
            self.scores[self._place] = None
            return Diverged(self.input, tuple(self.scores))
        rate = self.rates[self._place]
        ends: dict[float, Literal["smallest", "largest"]] = {min(self.rates): "smallest", max(self.rates): "largest"}
        weights = self.weights[0].cpu()
        top1, top5 = (hits.sum(dim=1).double() / len(y)).tolist()
        return Classifier(
            self.input,
            rate,
            tuple(self.scores),
            ends.get(rate) if len(ends) > 1 else None,
            top1,
            top5,
            hits[0],
            weights[:-1].T.contiguous(),
            weights[-1],
        )


@dataclass(frozen=True, eq=False)
class _Loaded:
    """Features of parts, on the device or to be streamed to it, with the dtype of factors in products."""

    parts: Sequence[Resident | Streamed]
    dtype: torch.dtype


class _RoundedError(Exception):
    """The features cannot be represented in 16 bits."""


def _load(parts: Sequence[Part], place: torch.device, products: torch.dtype | None, need: Need) -> _Loaded:
    """Features in 16 bits if that is asked for and represents them, else in 32."""
    dtype = products or (torch.float16 if place.type == "cuda" else torch.float32)
    try:
        named = zip(parts, NAMES[: len(parts)], strict=True)
        return _Loaded([_source(X, name, place, dtype, need(1, dtype.itemsize)) for (X, _), name in named], dtype)
    except _RoundedError:
        pass  # handled below, where the features that were read so far are no longer in memory
    return _load(parts, place, torch.float32, need)


def _source(X: Tensor | Rows, name: str, place: torch.device, dtype: torch.dtype, need: int) -> Resident | Streamed:
    """Features on the device if they fit there beside `need` bytes; on a CPU, large ones stay in their file."""
    size = len(X) * X.shape[1]
    if place.type == "cpu":
        resident = isinstance(X, Tensor) or size * X.dtype.itemsize < MANY
    else:
        resident = size * dtype.itemsize + need <= free_bytes(place)
    represented = partial(_represented, dtype=dtype)
    if resident:
        return Resident.load(X, represented, device=place, dtype=dtype, name=name)
    source = Streamed(X, lambda rows: rows, device=place, dtype=dtype, name=name)
    for rows in blocks(X if not isinstance(X, Tensor) else X.cpu().numpy(), place):
        represented(rows)
    return source


def _represented(rows: Tensor, *, dtype: torch.dtype) -> Tensor:
    """The same rows, if a dtype represents them."""
    wide = rows.double() if rows.dtype == torch.float64 else rows.float()
    kept = wide.to(dtype).to(wide.dtype)
    if dtype == torch.float16 and not (kept - wide).norm() <= ROUNDED * wide.norm():
        raise _RoundedError
    if not bool(kept.isfinite().all()):
        raise UserError(f"the features reach {float(wide.abs().max()):.0e}; scale them below 1e38")
    return rows


def _need(
    inputs: Sequence[Range], classes: int, dimension: int, protocol: GridProtocol, rates: int, item: int, *, gpu: bool
) -> int:
    """Bytes that training needs beside the features, with this many rates."""
    widths = [each.width for each in inputs]
    return grid_bytes(widths, rates, classes, dimension, protocol.batch, item=item, gpu=gpu)


def _check(train: Part, validation: Part | None, test: Part) -> int:
    """The number of classes, if the arrays match; the features' values are checked as they are read."""
    given = zip(NAMES, (train, test, validation), strict=True)
    for name, (X, y) in ((name, part) for name, part in given if part is not None):
        if len(X.shape) != 2 or y.ndim != 1 or len(X) != len(y) or len(X) == 0:
            raise UserError(f"{name} features of shape {tuple(X.shape)} do not match labels of shape {tuple(y.shape)}")
        if X.shape[1] != train[0].shape[1]:
            raise UserError(f"training features have {train[0].shape[1]} dimensions, {name} features {X.shape[1]}")
    return common_classes(train[1], test[1])
