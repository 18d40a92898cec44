"""What the job of a probe is, and how its result is written and read.

A job is a frozen dataclass: the hash of its content names its result (`unseen.runs.job`), so everything that can change
a number is in it. A subclass of `Job` in a file of `unseen.probes.by_name` is a kind of job, known by the name of its
class: nothing else is edited.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNDESCRIBED = "undescribed"
"""In the metadata of a field of a job: it changes no number and is no part of what the job is, such as a path."""
Pairs = Sequence[tuple[str, float]]
"""(metric, value), with metrics by their names in `unseen.metrics.catalogue`."""


@dataclass(frozen=True)
class Fit:
    """A fitted probe.

    Attributes:
        variant: what tables call it: the probe's name, with what tells apart several fits of one call (`knn-20`).
        values: (metric, value) pairs.
        details: how it came about: the hyper-parameters chosen and what they were chosen by; numbers, words and lists.
        interval: half the width of the 95% interval of its first metric, where a probe tells.
        correct: (n,) which test samples it has right, in the order of the test set, where a probe tells.
    """

    variant: str
    shots: int | None
    seed: int
    values: Pairs
    details: Mapping[str, Any] = field(default_factory=dict)
    interval: float | None = None
    correct: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)


class Job:
    """A kind of job. Its fields have at least a `study`, a `protocol`, a `backbone` and a `domain`."""

    def kept(self, fits: Sequence[Fit]) -> dict[str, Any]:
        """The values of a result, as JSON: of the one fit of this job, metrics and details by their names."""
        [fit] = fits
        return {**dict(fit.values), **fit.details, **packed(fit.correct)}

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        """The fits in a result of this version or an earlier one; what a damaged one lacks is a KeyError or the like.

        Args:
            job: the fields of the job, as read back from JSON.
            values: what was kept.
        """
        raise NotImplementedError


def read_flat(
    variant: str, metrics: Sequence[str], job: Mapping[str, Any], values: Mapping[str, Any], seed: int | None = None
) -> Fit:
    """The fit in a result whose values have each metric by its name; NaN for one that is not there.

    Args:
        seed: where the job has no field of that name.
    """
    number = job["seed"] if seed is None else seed
    return Fit(variant, job.get("shots"), number, [(metric, values.get(metric, np.nan)) for metric in metrics])


def packed(hits: NDArray[np.bool_] | None) -> dict[str, Any]:
    """As values of a result: the number of `images`, and `correct` in base64, eight a byte (50,000 make 8 KB)."""
    if hits is None:
        return {}
    return {"images": len(hits), "correct": b64encode(np.packbits(hits).tobytes()).decode()}
