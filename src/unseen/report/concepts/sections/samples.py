"""How many samples make up for a level."""

from math import inf, isfinite, log2

import pandas as pd

from unseen.metrics.sample_exchange import samples_for
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import domain_ticks
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.ticks import log_ticks
from unseen.runs.data import Domain


def build(context: ConceptContext) -> Section | None:
    """How many samples per concept give on each level the accuracy that a few of them give on the nearest."""
    data, summary = context.main, context.summary
    table = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic") & (summary["shots"] != "all")]
    numbers = sorted({int(shots) for shots in table["shots"]})
    levels = [domain for domain in data.domains if not domain.seen]
    if len(numbers) < 3 or len(levels) < 2:
        return None
    budget = numbers[len(numbers) // 2]
    series, sentences = list[Series](), list[str]()
    for backbone in data.backbones:
        needed = _needed(levels, table, backbone.name, budget)
        if not needed:
            continue
        values = [None if not isfinite(value) else log2(value) for value in needed.values()]
        titles = {domain.name: domain.title for domain in levels}
        hover = [f"{backbone.name}, {titles[name]}: {_count(value, numbers)}" for name, value in needed.items()]
        places = [float(list(titles).index(name)) for name in needed]
        series.append(Series(backbone.name, places, values, strong=True, hover=hover, backbone=backbone.name))
        last = list(needed)[-1]
        sentences.append(
            f"{backbone.name} needs {_count(needed[last], numbers)} per concept on {titles[last]} to be as accurate as "
            f"with {_samples(budget)} per concept on {levels[0].title}."
        )
    if not series:
        return None
    shown = [value for each in series for value in each.y if value is not None]
    ticks = tuple((log2(number), text) for number, text in log_ticks([2**value for value in shown] or [budget]))
    note = (
        "Number of samples per concept at which the few-shot curve of a level reaches the accuracy that "
        f"{_samples(budget)} per concept give on {levels[0].title}, interpolated in the logarithm of samples. "
        f"Points are missing where {numbers[-1]} samples are not enough."
    )
    figure = Figure(
        "",
        "Level",
        "Samples per concept",
        series,
        domain_ticks(levels),
        ticks,
        y_range=(ticks[0][0], ticks[-1][0]),
        caption=note,
    )
    return Section("samples", "How many samples make up for a level", sentences, [figure], note, menu="Samples")


def _needed(levels: list[Domain], table: pd.DataFrame, backbone: str, budget: int) -> dict[str, float]:
    """Level → samples, for the levels that were probed with several numbers of shots."""
    own = table[table["backbone"] == backbone]
    curves = {
        domain.name: {int(s): float(m) for s, m in own.loc[own["domain"] == domain.name, ["shots", "mean"]].to_numpy()}
        for domain in levels
    }
    first = curves[levels[0].name]
    if budget not in first:
        return {}
    return {name: samples_for(curve, first[budget]) for name, curve in curves.items() if len(curve) > 1}


def _samples(number: int) -> str:
    return f"{number} sample{'' if number == 1 else 's'}"


def _count(value: float, numbers: list[int]) -> str:
    if value == inf:
        return f"more than {_samples(numbers[-1])}"
    return f"at most {_samples(numbers[0])}" if value <= numbers[0] else f"about {_samples(round(value))}"


SECTION = PageSection("concepts", 90, build)
