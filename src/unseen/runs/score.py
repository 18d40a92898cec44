"""A score: one number, measured by a job or published in a paper, with everything needed to interpret it.

The schema of a score, in JSON and as columns of a table:

| key | meaning |
| --- | --- |
| study | the study: `concepts`, `tasks`, `shifts`, `probe` |
| protocol | the protocol and its version, `cog-v2`; a shortened form is another protocol, `cog-v2-pruned` |
| backbone | name of the backbone in the study |
| domain | the concepts: `in1k` or `seen`, `l1` … `l5`; or a data set, a test set; empty for a mean over several |
| probe | name listed by `unseen ls probes`, or a variant (`pca-32`); `own-head` for a network's own classifier |
| shots | training samples per class, null for all |
| fewest_samples | training samples of the smallest class in that fit, at most `shots`; null if unknown |
| median_samples, most_samples | the same for the median and the largest class |
| seed | seed of the split, the draws and the search |
| metric | `top1`, `purity` …; `unseen.metrics.catalogue` defines each |
| value | the number |
| low, high | ends of its 95% interval, null if unknown |
| source | `measured`, or the paper that published it: `ericsson-2021` … |
| seconds | duration of the job that measured it |
| versions | package → version |
| key | content key of the job, the name of its result file |
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

MEASURED = "measured"
"""The source of a score that was measured by a run."""


@dataclass(frozen=True)
class Score:
    """One number; the docstring of this module explains each field."""

    study: str
    protocol: str
    backbone: str
    domain: str
    probe: str
    shots: int | None
    seed: int
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    source: str = MEASURED
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    fewest_samples: int | None = None
    median_samples: int | None = None
    most_samples: int | None = None

    @property
    def published(self) -> bool:
        """Whether it was published in a paper."""
        return self.source != MEASURED

    @property
    def half_width(self) -> float | None:
        """Half the width of its interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def shots_name(shots: int | None) -> str:
    """Shots as written in tables: the number, or `all`."""
    return "all" if shots is None else str(shots)
