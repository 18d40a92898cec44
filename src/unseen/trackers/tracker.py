"""What a tracker receives: the plan of a study, each score when it is measured, and how the work ended.

Scores of a study and those of a network in training (`step`) are the same record, so that both use the same writers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from unseen.trackers.metric_names import metric_name

Setting = str | int | float | bool | None
Status = Literal["finished", "failed", "interrupted"]


@dataclass(frozen=True)
class LoggedScore:
    """One score.

    Attributes:
        probe: its name in tables, such as `knn` or `pca-32`.
        value: the score of this fit, in the unit of its metric; accuracies are between 0 and 1.
        backbone: its name in the study; empty for the network that a training loop monitors.
        shots: training samples per class; None for all.
        step: the training step at which a network in training was measured; None for a study.
        mean: the mean over the seeds that are known so far, this one included; None if there is only this one.
        seeds: number of these seeds.
        low, high: ends of the 95% interval of `value`, if known.
    """

    dataset: str
    probe: str
    metric: str
    value: float
    backbone: str = ""
    shots: int | None = None
    seed: int = 0
    step: int | None = None
    mean: float | None = None
    seeds: int = 1
    low: float | None = None
    high: float | None = None

    @cached_property
    def name(self) -> str:
        """Its name in every tracker, for instance `dtd/knn/top1` (`unseen.trackers.metric_names`)."""
        return metric_name(self.dataset, self.probe, self.metric, self.shots)

    @property
    def plotted(self) -> float:
        """The value that trackers plot: the mean over the seeds known so far."""
        return self.value if self.mean is None else self.mean

    @property
    def place(self) -> int:
        """Where trackers plot it: at the training step, or at the number of seeds of the mean."""
        return self.seeds if self.step is None else self.step

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name} | asdict(self)


@dataclass(frozen=True)
class LoggedPlan:
    """The work that scores are going to come from.

    Attributes:
        study: name of the study.
        title: heading of its page.
        folder: folder of the run; trackers that write files and are not told where write into it.
        backbones: their names; empty for a network in training.
        jobs, jobs_left: number of all jobs, and of those without a result; 0 for a network in training.
        settings: keys of the study with their values, such as `knn.k`, for the configuration that trackers show.
        ids: backbone → identifier of its run in this tracker, from an earlier call in this folder, which goes on.
        part: (k, n) if this call does the k-th of n parts.
    """

    study: str
    title: str
    folder: Path
    backbones: Sequence[str] = ()
    jobs: int = 0
    jobs_left: int = 0
    settings: Mapping[str, Setting] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    part: tuple[int, int] = (1, 1)


@dataclass(frozen=True)
class LoggedEnd:
    """How the work ended.

    Attributes:
        status: `failed` if a job failed, `interrupted` if the user or the machine stopped the work.
        scores: number of scores that were logged.
        failures: sentences about what failed.
    """

    status: Status
    scores: int = 0
    failures: Sequence[str] = ()


class Tracker(Protocol):
    """Writes scores somewhere.

    An error of a tracker does not stop the work: it is said once, and this tracker receives nothing more. Only one
    process calls a tracker, wherever jobs run.
    """

    def on_plan(self, plan: LoggedPlan) -> Mapping[str, str] | None:
        """Called before the work starts, once.

        Returns:
            backbone → identifier of its run, to be continued by a later call in the same folder; None if there is none.
        """

    def on_score(self, score: LoggedScore) -> None:
        """Called with each score when it is measured."""

    def on_end(self, end: LoggedEnd) -> None:
        """Called when the work has ended, however it ended."""


@dataclass(frozen=True)
class Logger:
    """A kind of tracker that `--log NAME[:WHERE]` and `progress=["NAME:WHERE"]` name.

    Attributes:
        name: as users write it.
        title: its usual name.
        where: what WHERE says, and what its default is, as a phrase.
        make: makes the tracker from WHERE, which is empty if it was not given; a wrong WHERE is a `UserError`.
        needs: module that it imports; a missing one is reported with the extra that brings it, before any work.
    """

    name: str
    title: str
    where: str
    make: Callable[[str], Tracker]
    needs: str = ""
