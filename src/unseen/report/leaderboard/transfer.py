"""Contributed models among those of Ericsson et al. 2021: linear probes on their common data sets."""

from collections.abc import Mapping, Sequence
from math import fsum

from unseen.data.registry import DATASETS, task_sets
from unseen.exchange.contributions import Contribution
from unseen.exchange.plausible import verdict
from unseen.exchange.record import ResultRecord
from unseen.papers.transfer import LINEAR, published_task_scores, task_setting
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.leaderboard.parts import percent
from unseen.runs.comparability_words import refusal

Values = Mapping[str, float]
"""Data set → score."""


def has_transfer(models: Sequence[Contribution]) -> bool:
    """Whether a contributed model has a score that can be compared with those of the paper."""
    return any(_linear(model.records)[0] for model in models)


def transfer_section(models: Sequence[Contribution], pages: Mapping[str, str]) -> Section | None:
    """All models by the mean over the common data sets, the contributed ones first; None without a comparable score.

    Args:
        pages: model → the address of its page.
    """
    own = {model.name: _linear(model.records) for model in models}
    names = [name for name in task_sets() if any(name in values for values, _ in own.values())]
    if not names:
        return None
    published: dict[str, dict[str, float]] = {}
    for score in published_task_scores():
        if task_setting(score) == LINEAR:
            published.setdefault(score.backbone, {})[score.domain] = score.value
    rows = {model: (values, dict[str, str](), "", "paper") for model, values in published.items()}
    origins = {model.name: model.origin for model in models}
    rows |= {model: (*found, pages[model], origins[model]) for model, found in own.items() if found[0]}

    def order(item: tuple[str, tuple[Values, Mapping[str, str], str, str]]) -> tuple[bool, bool, float]:
        mean = _mean(item[1][0], names)
        return (item[0] not in pages, mean is None, -(mean or 0.0))

    ranked = sorted(rows.items(), key=order)
    columns = [
        Column("Model", number=False, names=("model",)), Column("From", number=False, names=("source",)),
        *(Column(DATASETS[name].title, DATASETS[name].metric, names=(name,)) for name in names),
        Column("Mean", "over these data sets", names=("mean",)),
    ]  # fmt: skip
    note = (
        "Scores of linear probes in percent, on the data sets on which a contributed model can be compared with the "
        f"{len(published)} models of Ericsson et al. 2021: complete data sets, same protocol. Only models with scores "
        "on all of these data sets have a mean. Means have no intervals here: neighbours may differ by chance."
    )
    refused = [f"{model}, {name}: {why}" for model, (_, reasons) in own.items() for name, why in reasons.items()]
    left_out = f"\nNot comparable: {'; '.join(refused)}." if refused else ""
    table = Table("transfer", columns, [_row(model, *found, names) for model, found in ranked], sortable=True)
    return Section("transfer", "Transfer to other tasks", note=note + left_out, tables=[table], menu="Transfer")


def _linear(records: Sequence[ResultRecord]) -> tuple[dict[str, float], dict[str, str]]:
    """Scores of linear probes that can be compared with published ones, and why the others cannot."""
    values, reasons = dict[str, float](), dict[str, str]()
    for record in records:
        judged = verdict(record) if record.study == "tasks" else None
        if judged is None:
            continue
        name = record.data.name
        found = [
            s.value for s in record.scores if (s.probe, s.shots, s.metric) == (LINEAR, None, DATASETS[name].metric)
        ]
        if not found:
            continue
        if judged[1].allowed:
            values[name] = found[0]
        else:
            part = record.data.limit is not None
            reasons[name] = "a part of its images" if part else refusal(judged[1], record.data.title)
    return values, reasons


def _mean(values: Values, names: Sequence[str]) -> float | None:
    return fsum(values[name] for name in names) / len(names) if all(name in values for name in names) else None


def _row(model: str, values: Values, reasons: Mapping[str, str], page: str, source: str, names: Sequence[str]) -> Row:
    mean = _mean(values, names)
    numbers = [
        Cell(percent(values[name]), (values[name],)) if name in values else Cell("–", about=reasons.get(name, ""))
        for name in names
    ]
    whole = Cell("–") if mean is None else Cell(percent(mean), (mean,), style="main")
    return Row([Cell(model, link=page), Cell(source), *numbers, whole], "yours" if page else "")
