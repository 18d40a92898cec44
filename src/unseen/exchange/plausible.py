"""Compare records with the published tables: whether the data are the same, and whether a score is an outlier.

A score is an outlier if its distance to the range of the published models is larger than the width of that range.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from unseen.data.registry import task_sets
from unseen.exchange.read import scored_data
from unseen.exchange.record import ResultRecord, ScoreFacts
from unseen.exchange.stated_settings import named_settings, stated_settings
from unseen.metrics.catalogue import METRICS
from unseen.papers import published
from unseen.papers.comparability import (
    Comparability,
    PublishedData,
    Reason,
    compare,
    published_dataset,
    published_domain,
)
from unseen.papers.dense_settings import TRAINED
from unseen.papers.transfer import published_task_scores, task_setting
from unseen.runs.comparability_words import COG, ERICSSON, refusal
from unseen.runs.provenance import limit_text
from unseen.runs.score import Score, shots_name


@dataclass(frozen=True)
class Range:
    """The lowest and the highest published value of a metric, and the number of models."""

    metric: str
    low: float
    high: float
    models: int

    def text(self, metric: str) -> str:
        return f"{metric_text(metric, self.low)} to {metric_text(metric, self.high)}"


Ranges = Mapping[tuple[str, str], Range]
"""The range of published values by domain and setting."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of a record with published numbers.

    Attributes:
        refused: why it is not comparable with them; empty if it is, or if nothing is published on its data.
        unlikely: one clause per score that is an outlier among the published ones.
    """

    refused: str = ""
    unlikely: tuple[str, ...] = ()


def comparison(record: ResultRecord) -> Comparison:
    """Compare a record with the published numbers of its domain or data set."""
    judged = verdict(record)
    if judged is None:
        return Comparison()
    paper, comparability = judged
    if not comparability.allowed:
        part = record.data.limit is not None
        why = limit_text(record.data.limit) + " were used" if part else refusal(comparability, record.data.title)
        return Comparison(f"not comparable with the numbers of {paper}: {why}")
    return Comparison(unlikely=tuple(_far(record)))


def verdict(record: ResultRecord) -> tuple[str, Comparability] | None:
    """The paper that reports numbers on these data, and whether the record may be compared with them.

    None if no paper does.
    """
    data = record.data
    if record.study == "concepts" and (domain := published_domain(data.published, data.name)):
        return COG, _compared(record, domain)
    dataset = task_sets().get(data.name)
    if record.study == "tasks" and record.protocol not in _DENSE and dataset and dataset.in_paper:
        return ERICSSON, _compared(record, published_dataset(dataset))
    return None


def _compared(record: ResultRecord, printed: PublishedData) -> Comparability:
    """The comparison of the data and the protocol, with the settings that a record does not state."""
    unstated = [
        Reason("unknown-settings", named_settings(stated.missing), record.protocol, stated.probe)
        for stated in stated_settings(record)
        if stated.missing
    ]
    return Comparability((*compare(scored_data(record), printed).reasons, *unstated))


_DENSE = {trained.protocol for trained in TRAINED.values()}


def _far(record: ResultRecord) -> Iterator[str]:
    for score in record.scores:
        known = published_range(record, score)
        if known is None:
            continue
        width = known.high - known.low
        if not known.low - width <= score.value <= known.high + width:
            shots = f" with {score.shots} shots" if score.shots is not None else ""
            yield (
                f"{score.metric} of {score.probe}{shots} is {metric_text(score.metric, score.value)}, but the "
                f"{known.models} published models have {known.text(score.metric)}"
            )


def published_range(record: ResultRecord, score: ScoreFacts) -> Range | None:
    """The range of the published models in the setting of a score; the record must be comparable with them."""
    data = record.data
    if record.study == "concepts":
        setting = f"{score.probe} {shots_name(score.shots)} {score.metric}"
        return _cog_ranges(data.published).get((data.name, setting))
    as_score = Score("tasks", record.protocol, "", data.name, score.probe, score.shots, 0, score.metric, score.value)
    known = _task_ranges().get((data.name, task_setting(as_score)))
    return known if known and known.metric == score.metric else None


def metric_text(metric: str, value: float) -> str:
    """A value as text, accuracies and other shares in percent."""
    share = metric in METRICS and METRICS[metric].unit == "share"
    return f"{100 * value:.1f}%" if share else f"{value:.3g}"


@cache
def _cog_ranges(source: str) -> Ranges:
    if source != "cog-v2":
        return {}
    table = published(source)
    return {
        (str(domain), f"logistic {shots} top1"): Range("top1", rows.min() / 100, rows.max() / 100, len(rows))
        for (domain, shots), rows in table.groupby(["domain", "shots"])["mean"]
    }


@cache
def _task_ranges() -> Ranges:
    by_setting: dict[tuple[str, str], list[Score]] = {}
    for score in published_task_scores():
        by_setting.setdefault((score.domain, task_setting(score)), []).append(score)
    return {key: _range(scores) for key, scores in by_setting.items()}


def _range(scores: Sequence[Score]) -> Range:
    values = [score.value for score in scores]
    return Range(scores[0].metric, min(values), max(values), len(values))
