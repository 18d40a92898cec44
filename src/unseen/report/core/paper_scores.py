"""The scores of runs as papers print them: a row per backbone, a column per data set, bold for the best and ties."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from unseen.analyses.core.comparables import Comparables, most_shots
from unseen.metrics.catalogue import Metric
from unseen.report.core.compared import score_text
from unseen.report.core.metric_words import TRAINED_ON, metric_words, probe_words
from unseen.report.core.model import Cell, Column, Row, Table
from unseen.report.core.ties import RULE, best_and_ties
from unseen.runs.data import Domain, RunData
from unseen.runs.random_draws import RANDOM
from unseen.runs.score import Score
from unseen.text.words import counted, joined

Values = Mapping[tuple[str, str], Mapping[int, float]]
"""(backbone, data set) → seed → value."""


def score_tables(data: RunData, every: Comparables) -> list[Table]:
    """A table per probe and protocol, with the most samples that it was fitted with."""
    wanted, titles = most_shots(data), dict[tuple[str, str], list[Score]]()
    for score in data.scores:
        if not score.published and score.domain not in ("", RANDOM) and score.shots == wanted.get(score.probe):
            titles.setdefault((score.probe, score.protocol), []).append(score)
    several = {probe for probe, _ in titles if sum(probe == other for other, _ in titles) > 1}
    return [
        _table(data, every, of, f"paper-{_file(probe)}" + (f"-{_file(protocol)}" if probe in several else ""))
        for (probe, protocol), of in titles.items()
    ]


def _file(name: str) -> str:
    return "-".join(
        "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name.lower()).split()
    )


def _table(data: RunData, every: Comparables, scores: Sequence[Score], name: str) -> Table:
    first = scores[0]
    metrics = _metrics(data, every, scores)
    domains = [domain for domain in data.domains if domain.name in metrics]
    values = dict[tuple[str, str], dict[int, float]]()
    for score in scores:
        if score.metric == metrics[score.domain].name:
            values.setdefault((score.backbone, score.domain), {})[score.seed] = score.value
    backbones = [each for each in data.backbones if any((each.name, domain.name) in values for domain in domains)]
    barred = {
        domain.name: {
            each.name for each in backbones if each.was_trained_on(domain) and (each.name, domain.name) in values
        }
        for domain in domains
    }  # fmt: skip
    bold = dict[str, frozenset[str] | None]()
    for domain in domains:
        compared = every.of(domain.name, first.probe, first.shots, first.protocol)
        own = [each.name for each in backbones if (each.name, domain.name) in values]
        bold[domain.name] = best_and_ties(compared, own, barred[domain.name]) if len(own) > 1 else frozenset()
    same = len({metric.name for metric in metrics.values()}) == 1
    columns = [Column("", number=False, names=("backbone",))]
    columns += [
        Column(domain.title if same else f"{domain.title} ({metric_words(metric.name)}{_arrow(metric)})", number=True,
               names=(domain.name, f"{domain.name} ±"))
        for domain in domains for metric in [metrics[domain.name]]
    ]  # fmt: skip
    rows = [
        Row(
            [Cell(each.name), *(
                _cell(
                    values.get((each.name, domain.name)), metrics[domain.name],
                    tied=each.name in (bold[domain.name] or ()), trained_on=each.name in barred[domain.name],
                )
                for domain in domains
            )],
            backbone=each.name,
        )
        for each in backbones
    ]  # fmt: skip
    caption = _caption(first, metrics, values, same=same, trained_on=any(barred.values()))
    return Table(
        name, columns, rows, caption, _groups(domains), head=True, bold=_bold(bold, domains, several=len(backbones) > 1)
    )


def _metrics(data: RunData, every: Comparables, scores: Sequence[Score]) -> dict[str, Metric]:
    """Data set → the metric that backbones are compared by, or else the first that has a direction."""
    found = dict[str, Metric]()
    for score in scores:
        compared = every.of(score.domain, score.probe, score.shots, score.protocol)
        if score.domain in found or (compared is not None and compared.metric.name != score.metric):
            continue
        found[score.domain] = data.metrics[score.metric]
    return found


def _cell(seeds: Mapping[int, float] | None, metric: Metric, *, tied: bool, trained_on: bool) -> Cell:
    if not seeds:
        return Cell("–", (None, None))
    values = np.array([*seeds.values()])
    mean, spread = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None
    small = "" if spread is None else f"± {score_text(metric, spread)}"
    text = score_text(metric, mean) + (TRAINED_ON if trained_on else "")
    return Cell(text, (mean, spread), style="tied" if tied else "", small=small)


def _arrow(metric: Metric) -> str:
    return {True: " ↑", False: " ↓", None: ""}[metric.higher_is_better]


def _caption(
    first: Score, metrics: Mapping[str, Metric], values: Values, *, same: bool, trained_on: bool
) -> str:  # fmt: skip
    one = next(iter(metrics.values()))
    words = metric_words(one.name) if same else "scores"
    unit = " (%)" if same and one.unit == "share" else f" ({one.unit})" if same and one.unit != "score" else ""
    lower = ", lower is better" if same and one.higher_is_better is False else ""
    shots = "" if first.shots is None else f" with {counted(first.shots, 'shot')}"
    seeds = {len(each) for each in values.values()}
    over = f"; mean over {counted(max(seeds), 'seed')}" if max(seeds) > 1 else "; one seed"
    fewer = " (of some fewer)" if len(seeds) > 1 else ""
    spread = ", ± standard deviation" if max(seeds) > 1 else ""
    mark = f"; {TRAINED_ON} trained on this data set, never bold" if trained_on else ""
    return f"{words[:1].upper()}{words[1:]}{unit}{lower}: {probe_words(first.probe)}{shots}{over}{fewer}{spread}{mark}"


def _bold(bold: Mapping[str, frozenset[str] | None], domains: Sequence[Domain], *, several: bool) -> str:
    """What bold numbers are, and where there are none since ties cannot be decided."""
    if not several:
        return ""
    unknown = [domain.title for domain in domains if bold[domain.name] is None]
    if len(unknown) == len(bold):
        return "No number is bold: the results do not allow to compare the backbones on the same test images."
    without = f" Ties cannot be decided on {joined(unknown)}, where no number is bold." if unknown else ""
    return f"{RULE}{without}"


def _groups(domains: Sequence[Domain]) -> list[tuple[str, int]]:
    """Neighbouring columns of one kind under one title; none if all are of one kind."""
    groups = [(title, len([*of])) for title, of in groupby(map(_kind, domains))]
    return groups if len(groups) > 1 else []


def _kind(domain: Domain) -> str:
    if domain.axis == "concepts":
        return "" if domain.seen else "Unseen concepts"
    if domain.axis == "shifts":
        return "Shifted" if domain.shifted else ""
    return ""
