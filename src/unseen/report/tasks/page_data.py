"""The contents of a page of the task study."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unseen.analyses.core.comparables import Comparables
from unseen.analyses.tasks.averages import Average, CorrelationTable
from unseen.analyses.tasks.data import TaskDataset
from unseen.analyses.tasks.imagenet import AgainstImagenet
from unseen.runs.score import Score
from unseen.runs.setup import ProtocolUsed

if TYPE_CHECKING:
    from unseen.report.tasks.attention_data import AttentionResult
    from unseen.report.tasks.dense_data import DenseTask
    from unseen.report.tasks.image_data import ImageResult

PICTURES = "pictures"
"""Name of the folder with pictures of predictions, beside the folder of results."""


@dataclass(frozen=True)
class Bins:
    """A reliability diagram: samples, mean confidence and accuracy by bin; None for empty bins."""

    counts: Sequence[int]
    confidence: Sequence[float | None]
    accuracy: Sequence[float | None]


@dataclass(frozen=True)
class Fit:
    """Details of a linear probe's fit.

    Attributes:
        shots: training images per class; None for all.
        edge: the end of the grid at which the penalty is, or None.
        stopped: number of fits that did not reach their optimum, including the refit.
        before, after: reliability before and after temperature scaling; None if images have several classes.
        unbounded: whether a temperature is at the end of its range, for instance if all validation images are correct.
    """

    backbone: str
    dataset: str
    penalty: float
    edge: str | None
    stopped: int
    before: Bins | None = None
    after: Bins | None = None
    temperatures: Sequence[float] = ()
    unbounded: bool = False
    shots: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Tried:
    """A setting of the grid.

    Attributes:
        decay: weight decay times learning rate, which the grid is over.
        value: validation score; None if training diverged.
    """

    rate: float
    decay: float
    augment: str
    value: float | None


@dataclass(frozen=True)
class Tuned:
    """A backbone fine-tuned on a data set.

    Attributes:
        title: title of the data set.
        scores: the metric on test images, then calibration errors if images have one class.
        chosen: position in `tried` of the setting that was trained again.
        passed_over: positions of better settings that diverged when they were trained again.
        edges: ends of the grid at which this setting is.
        seconds: total duration of all trainings.
        arithmetic: precision and device of the computation, in words.
        before, after: reliability before and after temperature scaling.
        unbounded: whether the temperature is at the end of its range, as if all validation images are correct.
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
    seed: int = 0


@dataclass(frozen=True)
class TaskPage:
    """The contents of the page.

    Attributes:
        backbones: backbones of the run, in order.
        scores: scores of the run, means if they have several seeds (`unseen.runs.seed_means`); then the published ones.
        averages: averages of the run's backbones and the published models over their common data sets.
        ranks: setting → backbone → rank by the means of those averages, 1 is the best.
        tuned: settings that fine-tuning tried and chose.
        dense: data sets with boxes or maps.
        by_image: analyses of single images, by backbone and set of images.
        attention: where attentive probes look, by data set and backbone.
        against_imagenet: scores against ImageNet accuracy, by setting and data set.
        notices: sentences at the top.
        notes: what was skipped, and why.
        timings: backbone → number of jobs and their seconds.
        own_code: the user's own probes and metrics.
        further_scores: scores of these, and of probes that are not in the paper.
        trained_on: backbones with data sets that are among their training data.
        every: what can be compared on the same test images, which decides whose score leads.
    """

    title: str
    protocol: str
    backbones: Sequence[str]
    datasets: Sequence[TaskDataset]
    scores: Sequence[Score]
    fits: Sequence[Fit]
    averages: Sequence[Average]
    correlations: Sequence[CorrelationTable]
    ranks: Mapping[str, Mapping[str, int]]
    tuned: Sequence[Tuned] = ()
    dense: "Sequence[DenseTask]" = ()
    by_image: "Sequence[ImageResult]" = ()
    attention: "Sequence[AttentionResult]" = ()
    against_imagenet: Sequence[AgainstImagenet] = ()
    notices: Sequence[str] = ()
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    timings: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    own_code: Sequence[ProtocolUsed] = ()
    further_scores: Sequence[Score] = ()
    trained_on: Set[tuple[str, str]] = frozenset()
    every: Comparables = field(default=Comparables(()), repr=False)
