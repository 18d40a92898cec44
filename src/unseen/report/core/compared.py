"""What a page says of differences: what can be compared, and differences as texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unseen.analyses.core.comparables import Comparables
from unseen.analyses.paired import PairComparison
from unseen.metrics.catalogue import Metric
from unseen.metrics.paired.estimate import Estimate
from unseen.runs.data import RunData
from unseen.text.words import signed


@dataclass(frozen=True)
class Resolution:
    """What differences of a run, or of several that were merged, mean.

    Attributes:
        pairs: the comparison that was asked for, then those with the baseline.
        drawn: backbones that have a colour and a mark on the page.
    """

    data: RunData
    every: Comparables
    pairs: Sequence[PairComparison] = field(default=())
    drawn: frozenset[str] = frozenset()

    @property
    def titles(self) -> Mapping[str, str]:
        return {domain.name: domain.title for domain in self.data.domains}

    def metric(self, name: str) -> Metric:
        return self.data.metrics[name]

    def look(self, name: str) -> str:
        """The backbone whose colour and mark are used; empty if it has none on the page."""
        return name if name in self.drawn else ""


def amount(metric: Metric, value: float) -> str:
    """A difference in words: points of a share, else in the unit of the metric."""
    return f"{100 * value:.1f} points" if metric.unit == "share" else f"{value:.3g}"


def ends_text(metric: Metric, estimate: Estimate) -> str:
    interval = estimate.interval()
    return f"{difference_text(metric, interval.low)} to {difference_text(metric, interval.high)}"


def difference_text(metric: Metric, value: float) -> str:
    return signed(100 * value, 1) if metric.unit == "share" else signed(value, 3)


def score_text(metric: Metric, value: float) -> str:
    return f"{100 * value:.1f}" if metric.unit == "share" else f"{value:.3g}"
