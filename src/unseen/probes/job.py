"""The job of a probe, and how its result is written and read.

A job is a frozen dataclass: the hash of its content names its result (`unseen.runs.job`), so it contains everything
that can change a number. Every subclass of `Job` in a file of `unseen.probes.by_name` is a kind of job, found by its
class name; nothing else needs editing.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.probes.samples import SamplesPerClass

UNDESCRIBED = "undescribed"
"""Metadata of a field of a job that changes no number and is not part of its identity, such as a path."""
SAMPLES = "samples"
"""Name of the entry of a result about training samples per class."""
Pairs = Sequence[tuple[str, float]]
"""(metric, value), with metrics by their names in `unseen.metrics.catalogue`."""


@dataclass(frozen=True)
class Fit:
    """A fitted probe.

    Attributes:
        variant: its name in tables: the probe's name, with a suffix if one call gives several fits (`knn-20`).
        values: (metric, value) pairs.
        details: how it was obtained: the chosen hyper-parameters and the basis of the choice; numbers, words and lists.
        interval: half the width of the 95% interval of its first metric, if the probe provides it.
        correct: (n,) which test samples are classified correctly, in the order of the test set, if the probe provides
            it.
        samples: training samples per class, if known.
    """

    variant: str
    shots: int | None
    seed: int
    values: Pairs
    details: Mapping[str, Any] = field(default_factory=dict)
    interval: float | None = None
    correct: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)
    samples: SamplesPerClass | None = field(default=None, compare=False)


class Job:
    """A kind of job. Its fields include at least `study`, `protocol`, `backbone` and `domain`."""

    def kept(self, fits: Sequence[Fit]) -> dict[str, Any]:
        """The values of a result, as JSON: metrics and details by name, for the single fit of this job."""
        [fit] = fits
        return {**dict(fit.values), **fit.details, **packed(fit.correct)}

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        """The fits in a result of this version or an earlier one; missing values raise KeyError or similar.

        Args:
            job: the fields of the job, as read from JSON.
            values: the stored values.
        """
        raise NotImplementedError


def read_flat(
    variant: str, metrics: Sequence[str], job: Mapping[str, Any], values: Mapping[str, Any], seed: int | None = None
) -> Fit:
    """The fit in a result with each metric under its name; NaN for a missing one.

    Args:
        seed: used if the job has no field of that name.
    """
    number = job["seed"] if seed is None else seed
    pairs = [(metric, values.get(metric, np.nan)) for metric in metrics]
    return Fit(variant, job.get("shots"), number, pairs, samples=read_samples(values))


def not_finite(values: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers that are not finite in values as JSON, each with the nearest key above it."""
    if isinstance(values, Mapping):
        for key, each in values.items():
            yield from not_finite(each, str(key))
    elif isinstance(values, list | tuple):
        for each in values:
            yield from not_finite(each, name)
    elif isinstance(values, float) and not isfinite(values):
        yield name, values


def samples_kept(samples: SamplesPerClass | None) -> dict[str, Any]:
    """The entry of a result about training samples per class; nothing if they are unknown."""
    return {} if samples is None else {SAMPLES: asdict(samples)}


def read_samples(values: Mapping[str, Any]) -> SamplesPerClass | None:
    """Training samples per class in a result; None in results of earlier versions."""
    return SamplesPerClass(**values[SAMPLES]) if SAMPLES in values else None


def packed(hits: NDArray[np.bool_] | None) -> dict[str, Any]:
    """Values of a result: the number of `images`, and `correct` in base64, eight per byte (50,000 take 8 KB)."""
    if hits is None:
        return {}
    return {"images": len(hits), "correct": b64encode(np.packbits(hits).tobytes()).decode()}
