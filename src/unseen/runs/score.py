"""A score: one number that a job measured, with everything needed to read it.

The schema of a score, in JSON and as columns of a table:

| key | meaning |
| --- | --- |
| study | what was asked: `concepts`, `tasks`, `shifts`, `probe` |
| protocol | the protocol and its version, `cog-v2`; a shortened form is a protocol of its own, `cog-v2-short` |
| backbone | whose features, as named in the study |
| domain | which concepts: `in1k` or `seen`, `l1` … `l5`, or a data set's name |
| probe | as `unseen ls probes` has it, with what tells variants apart: `logistic`, `pca-32`, `mlp-linear` |
| shots | training samples per class, null for all |
| seed | of the split, the draws and the search |
| metric | `top1`, `purity` …: `unseen.metrics.catalogue` has what each means |
| value | the number |
| seconds | what the job that measured it took |
| versions | package → version |
| key | the job's content key, the name of its result file |
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from unseen.errors import UserError


@dataclass(frozen=True)
class Score:
    """One measured number; the module's docstring explains each field."""

    study: str
    protocol: str
    backbone: str
    domain: str
    probe: str
    shots: int | None
    seed: int
    metric: str
    value: float
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    key: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], where: str = "a score") -> Self:
        """A score from its JSON form; missing or unknown keys are an error that names them."""
        known = {item.name for item in fields(cls)}
        wrong = sorted(known ^ set(record))
        if wrong:
            raise UserError(f"{where}: a score has the keys {', '.join(sorted(known))}; check {', '.join(wrong)}")
        return cls(**record)


def shots_name(shots: int | None) -> str:
    """How shots are written in tables: the number, or `all`."""
    return "all" if shots is None else str(shots)
