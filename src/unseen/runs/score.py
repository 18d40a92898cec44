"""A score: one number, measured by a job or printed in a paper, with everything needed to read it.

The schema of a score, in JSON and as columns of a table:

| key | meaning |
| --- | --- |
| study | what was asked: `concepts`, `tasks`, `shifts`, `probe` |
| protocol | the protocol and its version, `cog-v2`; a shortened form is a protocol of its own, `cog-v2-pruned` |
| backbone | whose features, as named in the study |
| domain | which concepts: `in1k` or `seen`, `l1` … `l5`; or a data set, a test set; empty for a mean over several |
| probe | as `unseen ls probes` has it, or a variant (`pca-32`); `own-head` for the one a network came with |
| shots | training samples per class, null for all |
| seed | of the split, the draws and the search |
| metric | `top1`, `purity` …: `unseen.metrics.catalogue` has what each means |
| value | the number |
| low, high | the ends of its 95% interval, null where none is known |
| source | `measured`, or the paper that printed it: `ericsson-2021` … |
| seconds | what the job that measured it took |
| versions | package → version |
| key | the job's content key, the name of its result file |
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

MEASURED = "measured"
"""The source of a score that is a run's own."""


@dataclass(frozen=True)
class Score:
    """One number; the module's docstring explains each field."""

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

    @property
    def published(self) -> bool:
        """Whether a paper printed it."""
        return self.source != MEASURED

    @property
    def half_width(self) -> float | None:
        """Half of the width of its interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def shots_name(shots: int | None) -> str:
    """How shots are written in tables: the number, or `all`."""
    return "all" if shots is None else str(shots)
