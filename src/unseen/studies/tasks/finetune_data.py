"""What a page of fine-tuning in the task study is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unseen.runs.score import Score
from unseen.studies.tasks.page_data import Bins


@dataclass(frozen=True)
class Tried:
    """A setting of the grid.

    Attributes:
        decay: times the rate, which is what the grid is over.
        value: validation score; None where training diverged.
    """

    rate: float
    decay: float
    augment: str
    value: float | None


@dataclass(frozen=True)
class Tuned:
    """A backbone fine-tuned on a data set.

    Attributes:
        title: of the data set.
        scores: its metric on test images first, then calibration errors where images have one class.
        chosen: place in `tried` of the setting that was trained again.
        passed_over: places of better ones that diverged when they were trained again.
        edges: ends of the grid that this setting is at.
        seconds: of all trainings.
        arithmetic: how exact the numbers are and where they were computed, in words.
        before, after: temperature scaling.
        unbounded: whether the temperature is the end of its range, as where all validation images are right.
    """

    backbone: str
    dataset: str
    title: str
    metric: str
    scores: Sequence[Score]
    tried: Sequence[Tried]
    chosen: int
    edges: Sequence[str]
    seconds: float
    arithmetic: str
    passed_over: Sequence[int] = ()
    temperatures: Sequence[float] = ()
    before: Bins | None = None
    after: Bins | None = None
    unbounded: bool = False


@dataclass(frozen=True)
class FinetunePage:
    """Everything on the page.

    Attributes:
        published: the paper's numbers; none where they do not compare.
        means: calibration errors over the paper's ten data sets, of backbones that have all.
        notices: sentences at the top.
    """

    title: str
    protocol: str
    tuned: Sequence[Tuned]
    published: Sequence[Score] = ()
    means: Sequence[Score] = ()
    notices: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def backbones(self) -> list[str]:
        return [*dict.fromkeys(each.backbone for each in self.tuned)]

    @property
    def datasets(self) -> list[str]:
        return [*dict.fromkeys(each.title for each in self.tuned)]

    @property
    def timings(self) -> dict[str, tuple[int, float]]:
        """Backbone → trainings and their seconds."""
        found: dict[str, tuple[int, float]] = {}
        for each in self.tuned:
            trainings, seconds = found.get(each.backbone, (0, 0.0))
            found[each.backbone] = (trainings + len(each.tried) + len(each.passed_over) + 1, seconds + each.seconds)
        return found
