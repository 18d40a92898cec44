"""Records beside the published tables: whether they are of the same data, and whether a score is far from all others.

A score is far where it is further outside the range of the published models than that range is wide.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from unseen.exchange.read import scored_data
from unseen.exchange.record import ResultRecord, ScoreFacts
from unseen.images.datasets.registry import DATASETS
from unseen.metrics.catalogue import METRICS
from unseen.papers import published
from unseen.papers.comparability import Comparability, compare, published_dataset, published_domain
from unseen.papers.dense_settings import TRAINED
from unseen.papers.transfer import published_task_scores, task_setting
from unseen.runs.comparability_words import COG, ERICSSON, refusal
from unseen.runs.provenance import limit_text
from unseen.runs.score import Score, shots_name


@dataclass(frozen=True)
class Range:
    """The lowest and the highest published value, and how many models there are."""

    metric: str
    low: float
    high: float
    models: int

    def text(self, metric: str) -> str:
        return f"{metric_text(metric, self.low)} to {metric_text(metric, self.high)}"


Ranges = Mapping[tuple[str, str], Range]
"""By domain and setting."""


@dataclass(frozen=True)
class Comparison:
    """How a record stands beside published numbers.

    Attributes:
        refused: why it is not set beside them, where there are such; empty where it is, or there are none.
        unlikely: a clause on each score that is far from all published ones.
    """

    refused: str = ""
    unlikely: tuple[str, ...] = ()


def comparison(record: ResultRecord) -> Comparison:
    """A record beside the published numbers of its domain or data set."""
    found = verdict(record)
    if found is None:
        return Comparison()
    paper, verdict_ = found
    if not verdict_.allowed:
        part = record.data.limit is not None
        why = limit_text(record.data.limit) + " were taken" if part else refusal(verdict_, record.data.title)
        return Comparison(f"not set beside the numbers of {paper}: {why}")
    return Comparison(unlikely=tuple(_far(record)))


def verdict(record: ResultRecord) -> tuple[str, Comparability] | None:
    """The paper that has numbers on this data, and whether the record may stand beside them; None where none has."""
    data = record.data
    if record.study == "concepts" and (domain := published_domain(data.published, data.name)):
        return COG, compare(scored_data(record), domain)
    dataset = DATASETS.get(data.name)
    if record.study == "tasks" and record.protocol not in _DENSE and dataset and dataset.in_paper:
        return ERICSSON, compare(scored_data(record), published_dataset(dataset))
    return None


_DENSE = {trained.protocol for trained in TRAINED.values()}


def _far(record: ResultRecord) -> Iterator[str]:
    for score in record.scores:
        known = published_range(record, score)
        if known is None:
            continue
        width = known.high - known.low
        if not known.low - width <= score.value <= known.high + width:
            shots = f" with {score.shots} images" if score.shots is not None else ""
            yield (
                f"{score.metric} of {score.probe}{shots} is {metric_text(score.metric, score.value)}, and the "
                f"{known.models} published models have {known.text(score.metric)}"
            )


def published_range(record: ResultRecord, score: ScoreFacts) -> Range | None:
    """What published models have where a score is; only of a record that may stand beside them."""
    data = record.data
    if record.study == "concepts":
        setting = f"{score.probe} {shots_name(score.shots)} {score.metric}"
        return _cog_ranges(data.published).get((data.name, setting))
    as_score = Score("tasks", record.protocol, "", data.name, score.probe, score.shots, 0, score.metric, score.value)
    found = _task_ranges().get((data.name, task_setting(as_score)))
    return found if found and found.metric == score.metric else None


def metric_text(metric: str, value: float) -> str:
    """A value as a reader takes it: shares in percent."""
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
    found: dict[tuple[str, str], list[Score]] = {}
    for score in published_task_scores():
        found.setdefault((score.domain, task_setting(score)), []).append(score)
    return {key: _range(scores) for key, scores in found.items()}


def _range(scores: Sequence[Score]) -> Range:
    values = [score.value for score in scores]
    return Range(scores[0].metric, min(values), max(values), len(values))
