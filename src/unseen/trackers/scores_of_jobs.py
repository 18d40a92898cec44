"""The scores of jobs as trackers receive them: each with the mean over the seeds that have results."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from unseen.probes.job import Job
from unseen.runs.data import RunData
from unseen.runs.random_draws import pooled_draws, reported_as
from unseen.runs.results import read_result, result_path
from unseen.runs.score import Score
from unseen.runs.scores import result_scores
from unseen.trackers.tracker import LoggedScore

Cell = tuple[str, str, str, int | None]
Measured = tuple[str, int | None, str]


@dataclass
class ScoresOfJobs:
    """The scores of the jobs of a run, read from their results.

    Attributes:
        run: the record of the run that the jobs belong to; its scores are not used.
        jobs: the jobs that are cells.
        results: the folder of results.
    """

    run: RunData
    jobs: Iterable[Job]
    results: Path
    _read: dict[str, list[Score]] = field(default_factory=dict)

    @cached_property
    def keys(self) -> list[str]:
        """The keys of the jobs."""
        return [job.key for job in self.jobs]

    @cached_property
    def _cells(self) -> dict[Cell, list[str]]:
        """Jobs that differ only in their seeds, or in the draw of a random data set."""
        cells: dict[Cell, list[str]] = {}
        for job in self.jobs:
            cells.setdefault(_cell(job), []).append(job.key)
        return cells

    @cached_property
    def _cell_of(self) -> dict[str, Cell]:
        return {key: cell for cell, keys in self._cells.items() for key in keys}

    def has(self, key: str) -> bool:
        """Whether a job is a cell and has the file of a result, which may be damaged."""
        return key in self._cell_of and result_path(self.results, key).is_file()

    def of(self, key: str, without: Collection[str] = ()) -> Iterator[LoggedScore]:
        """The scores of a job; none if its result is damaged.

        Args:
            without: keys of jobs that the means leave out, though they have results.
        """
        values: dict[Measured, dict[int, float]] = {}
        for other in self._cells[self._cell_of[key]]:
            if other == key or other not in without:
                for each in self._scores(other) or ():
                    values.setdefault((each.probe, each.shots, each.metric), {})[each.seed] = each.value
        for each in self._scores(key) or ():
            seeds = values[each.probe, each.shots, each.metric]
            yield LoggedScore(
                dataset=each.domain,
                probe=each.probe,
                metric=each.metric,
                value=each.value,
                backbone=each.backbone,
                shots=each.shots,
                seed=each.seed,
                mean=sum(seeds.values()) / len(seeds) if len(seeds) > 1 else None,
                seeds=len(seeds),
                low=each.low,
                high=each.high,
            )

    def _scores(self, key: str) -> list[Score] | None:
        """The scores of a result, or None if it has none yet."""
        if key not in self._read:
            result = read_result(self.results, key)
            if result is None:
                return None
            self._read[key] = [*pooled_draws(result_scores(result, self.run))]
        return self._read[key]


def _cell(job: Job) -> Cell:
    return job.probe, job.backbone, reported_as(job.dataset), job.shots
