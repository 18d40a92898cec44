"""The rows of a page's table: the summary of a run's scores, in the order of the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unseen.metrics.catalogue import Metric
from unseen.probes.samples import SamplesPerClass
from unseen.runs.data import RunData
from unseen.runs.tables import GROUP, SAMPLES, with_comparisons

METRICS = {"top1": "top-1 accuracy", "top5": "top-5 accuracy"}


@dataclass(frozen=True)
class Row:
    """A row of the full table: shares in [0, 1], or scores without a unit; `values` has the score of each seed.

    `facts` are those on the metric, where it is known. One seed has no spread. `concept_low` and `concept_high`: the
    interval over seeds and concepts, where there is one. `samples` for training, per class, where they are known.
    """

    setting: str
    backbone: str
    category: str
    domain: str
    shots: str
    metric: str
    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    concept_low: float | None
    concept_high: float | None
    gap: float | None
    rank: int | None
    seeds: int
    values: Mapping[int, float]
    facts: Metric | None = None
    samples: SamplesPerClass | None = None
    probe: str = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of its error bar: the interval over concepts, or else a deviation over seeds either way."""
        if self.concept_low is not None and self.concept_high is not None:
            return self.concept_low, self.concept_high
        return None if self.deviation is None else (self.mean - self.deviation, self.mean + self.deviation)

    @property
    def is_share(self) -> bool:
        """Whether it is shown as percent."""
        return self.facts is None or self.facts.unit == "share"

    @property
    def is_accuracy(self) -> bool:
        """Whether it belongs into plots of accuracy by level: metrics that are not known are taken for such."""
        return self.metric in METRICS or self.facts is None


def unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def seen_domain(data: RunData) -> str | None:
    return next((domain.name for domain in data.domains if domain.seen), None)


def shots_order(shots: str) -> float:
    return float("inf") if shots == "all" else int(shots)


def make_rows(data: RunData, table: pd.DataFrame, summary: pd.DataFrame) -> list[Row]:
    """A run's rows by backbone, domain, shots.

    Args:
        table, summary: its scores, by `score_table` and `summarise`; with intervals over concepts where they are known.
    """
    known = data.metrics
    compared = with_comparisons(summary, seen=seen_domain(data) or "", metrics=known)
    values: dict[tuple[Any, ...], dict[int, float]] = {}
    for record in table.to_dict("records"):
        values.setdefault(tuple(record[name] for name in GROUP), {})[record["seed"]] = record["value"]
    categories = {backbone.name: backbone.category for backbone in data.backbones}
    rows = []
    for r in compared.to_dict("records"):
        rows.append(
            Row(
                setting=f"{r['study']}: {r['protocol']}{', ' if r['protocol'] else ''}{r['probe']} probe",
                backbone=r["backbone"], category=categories[r["backbone"]], domain=r["domain"],
                shots=r["shots"], metric=r["metric"], mean=r["mean"], deviation=_known(r["deviation"]),
                low=_known(r["low"]), high=_known(r["high"]),
                concept_low=_known(r.get("concept_low")), concept_high=_known(r.get("concept_high")),
                gap=_known(r["gap"]), rank=None if pd.isna(r["rank"]) else int(r["rank"]), seeds=int(r["seeds"]),
                values=dict(sorted(values[tuple(r[name] for name in GROUP)].items())),
                facts=known.get(r["metric"]), samples=_samples(r), probe=r["probe"],
            )
        )  # fmt: skip
    backbones = {backbone.name: place for place, backbone in enumerate(data.backbones)}
    domains = {domain.name: place for place, domain in enumerate(data.domains)}
    settings, metrics = unique(row.setting for row in rows), sorted({row.metric for row in rows})

    def place(row: Row) -> tuple[float, ...]:
        where = (settings.index(row.setting), metrics.index(row.metric), -shots_order(row.shots))
        return (*where, backbones[row.backbone], domains[row.domain])

    return sorted(rows, key=place)


def _known(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else value


def _samples(row: Mapping[str, Any]) -> SamplesPerClass | None:
    numbers = [row[name] for name in SAMPLES]
    return None if any(map(pd.isna, numbers)) else SamplesPerClass(*map(int, numbers))


def metric_title(name: str) -> str:
    return METRICS.get(name, name)


def main_row(rows: Sequence[Row]) -> Row:
    """A row of what the page shows first: top-1 accuracy and most shots, in the setting that comes first."""
    first = [row for row in rows if row.setting == rows[0].setting]
    metric = "top1" if any(row.metric == "top1" for row in first) else first[0].metric
    return max((row for row in first if row.metric == metric), key=lambda row: shots_order(row.shots))
