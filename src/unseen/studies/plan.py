"""The plan of a study: its cells, its jobs, and estimates of time, disk space and memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unseen.runs.notices import Notice
from unseen.runs.parts import Load, Part, own_jobs
from unseen.runs.record import read_record
from unseen.runs.results import RESULTS, read_all
from unseen.runs.scores import RunScores
from unseen.text.notebook import table_html

if TYPE_CHECKING:
    import pandas as pd

Cell = str | int | float
Unit = Literal["bytes", "share"]
UNITS: Mapping[str, Unit] = {
    "extracted": "share", "features": "bytes", "memory": "bytes", "decoded images": "bytes", "outputs": "bytes",
}  # fmt: skip
"""Units of columns with bytes, or with shares between 0 and 1."""


@dataclass(frozen=True)
class Share:
    """The work of one part of a job array.

    Attributes:
        jobs, jobs_left: number of its jobs, and of those without a result.
        seconds: estimated seconds for the latter.
    """

    jobs: int
    jobs_left: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """The work of a study, with estimates of time, disk space and memory.

    Attributes:
        title: title of the study.
        parts: one per backbone and data set, or training: column → name or number. Those of one input (vectors,
            patches, images, outputs) have the same columns.
        jobs, jobs_left: number of all jobs, and of those without a result.
        extraction, probing: estimated seconds for the missing features and for the missing jobs.
        disk, free: bytes still to be written, and bytes free on the disk; 0 if nothing is extracted.
        memory: bytes needed for the largest part; 0 if not estimated.
        alone: whether jobs run one after another, in one process.
        extracting: whether the jobs extract the features themselves, so that a part of them extracts only its own.
        loads: what decides which part of a job array runs each job.
        notices: requested work that cannot be done.
    """

    title: str
    parts: Sequence[Mapping[str, Cell]]
    jobs: int
    jobs_left: int
    extraction: float = 0.0
    probing: float = 0.0
    disk: int = 0
    free: int = 0
    memory: int = 0
    alone: bool = False
    extracting: bool = False
    loads: Sequence[Load] = ()
    notices: Sequence[Notice] = ()

    def share(self, part: Part) -> Share:
        """The work of a part of a job array: (2, 4) for the second of four."""
        own = own_jobs(self.loads, part, lambda load: load.cost, lambda load: load.shared)
        left, all_left = ([load.cost for load in of if load.left] for of in (own, self.loads))
        seconds = self.probing + (self.extraction if self.extracting else 0.0)
        return Share(len(own), len(left), seconds * sum(left) / sum(all_left) if sum(all_left) else 0.0)

    def to_frame(self) -> "pd.DataFrame":
        """One row per part."""
        import pandas as pd

        return pd.DataFrame([dict(part) for part in self.parts])

    def together(self, other: "Plan") -> "Plan":
        """The plan of both, one after the other."""
        return Plan(
            self.title,
            [*self.parts, *other.parts],
            self.jobs + other.jobs,
            self.jobs_left + other.jobs_left,
            self.extraction + other.extraction,
            self.probing + other.probing,
            self.disk + other.disk,
            max(self.free, other.free),
            max(self.memory, other.memory),
            self.alone and other.alone,
            self.extracting or other.extracting,
            [*self.loads, *other.loads],
            [*dict.fromkeys([*self.notices, *other.notices])],
        )

    def __repr__(self) -> str:
        return f"Plan({self.title!r}: {len(self.parts)} parts, {self.jobs_left} of {self.jobs} jobs to do)"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.to_frame())


def plan_of_run(folder: Path) -> Plan:
    """The finished and missing jobs of a run: one part per backbone, domain and probe, with its finished jobs."""
    data, keys = read_record(folder)
    results = read_all(folder / RESULTS, keys)
    scores = RunScores(data)
    firsts = (next(scores.of(result), None) for result in results)
    done = Counter((score.backbone, score.domain, score.probe) for score in firsts if score)
    parts: list[dict[str, Cell]] = [
        {"backbone": backbone, "domain": domain, "probe": probe, "jobs done": number}
        for (backbone, domain, probe), number in done.items()
    ]
    return Plan(data.title, parts, len(keys), len(keys) - len(results))
