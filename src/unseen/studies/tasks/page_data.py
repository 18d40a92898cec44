"""What a page of the task study is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unseen.metrics.correlation import Correlation
from unseen.runs.score import Score
from unseen.runs.setup import ProtocolUsed

if TYPE_CHECKING:
    from unseen.studies.tasks.by_image.page import ImageResult
    from unseen.studies.tasks.dense_page import DenseTask

SHOTS = (5, 20, 50)
"""Images of a class to learn from, by setting of the few-shot episodes."""

OTHER = "other"
"""The family of data sets that are not the paper's."""
PICTURES = "pictures"
"""The folder, beside results, of predictions as pictures."""


@dataclass(frozen=True)
class TaskDataset:
    """A data set of the page.

    Attributes:
        family: the paper's group of few-shot data sets, empty for none; `OTHER` for data sets that are not the paper's.
        limit: at most so many images of each class in every split; None for all of them.
        own: whether it is the user's.
    """

    name: str
    title: str
    family: str
    limit: int | None = None
    own: bool = False


@dataclass(frozen=True)
class Bins:
    """A reliability diagram: samples, their mean confidence and their accuracy by bin; None where a bin is empty."""

    counts: Sequence[int]
    confidence: Sequence[float | None]
    accuracy: Sequence[float | None]


@dataclass(frozen=True)
class Fit:
    """What a linear probe's score rests on.

    Attributes:
        edge: the end of the grid that the penalty is at, or None.
        stopped: fits that did not reach their optimum, the refit among them.
        before, after: temperature scaling; None where images have several classes.
        unbounded: whether a temperature is the end of its range, as where all validation images are right.
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
class Average:
    """A setting's mean over data sets: on the scale that correlations are taken on, and as it is ranked by.

    Attributes:
        datasets: those that every backbone here has; empty where a number is not of data sets.
        values: backbone → mean of logits.
        means: backbone → mean of the numbers themselves.
        higher_is_better: whether greater numbers are better.
    """

    setting: str
    title: str
    datasets: Sequence[str]
    values: Mapping[str, float]
    means: Mapping[str, float]
    higher_is_better: bool = True


@dataclass(frozen=True)
class Pair:
    """How two settings go together over backbones."""

    first: str
    second: str
    correlation: Correlation


@dataclass(frozen=True)
class CorrelationTable:
    """Correlations over some backbones, and what is correlated."""

    title: str
    averages: Sequence[Average]
    pairs: Sequence[Pair]


@dataclass(frozen=True)
class ImagenetPoint:
    """A backbone's score on a data set beside its accuracy on ImageNet: shares, and on the scale of correlations."""

    backbone: str
    top1: float
    score: float
    x: float
    y: float
    published: bool


@dataclass(frozen=True)
class AgainstImagenet:
    """One data set in one setting against accuracy on ImageNet, as a plot of the paper's Figs. 5 and 6.

    Attributes:
        title: of the data set.
        published, own: correlation over the paper's models, and over those of the run; None where they are too few.
    """

    setting: str
    dataset: str
    title: str
    points: Sequence[ImagenetPoint]
    published: Correlation | None = None
    own: Correlation | None = None


@dataclass(frozen=True)
class TaskPage:
    """Everything on the page.

    Attributes:
        backbones: of the run, in order.
        scores: of the run, then the published ones.
        averages: of the run's backbones and the published models, over the data sets that they share.
        ranks: setting → backbone → rank by the means of those averages, 1 the best.
        tuned: what fine-tuning tried and chose.
        dense: data sets with boxes or maps.
        by_image: analyses of single images, by backbone and set of images.
        against_imagenet: by setting, then by data set.
        notices: sentences at the top.
        notes: what was left out, and why.
        timings: backbone → jobs and their seconds.
        own_code: what the run says of probes and metrics of the user's own, and `own_scores` what they measured.
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
    against_imagenet: Sequence[AgainstImagenet] = ()
    notices: Sequence[str] = ()
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    timings: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    own_code: Sequence[ProtocolUsed] = ()
    own_scores: Sequence[Score] = ()
