"""Sections on what a level costs: samples that make up for it, and the continuous picture behind the five levels."""

from math import inf, isfinite

import numpy as np
import pandas as pd

from unseen.errors import UserError
from unseen.metrics.resampling import Floats
from unseen.metrics.sample_exchange import samples_for
from unseen.metrics.slope import SimilaritySlope, similarity_slope
from unseen.report.concepts.section_parts import COLOURS, domain_ticks
from unseen.report.core.sections import Plot, Section, Series
from unseen.runs.data import Backbone, ConceptAccuracy, Domain, RunData
from unseen.words import signed

BINS = 20
SHOWN = 1000
"""Concepts drawn in a plot, evenly over similarity: browsers get slow with more. Lines are of all."""


def sample_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """How many samples a concept give on each level what a few of them give on the nearest."""
    table = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic") & (summary["shots"] != "all")]
    numbers = sorted({int(shots) for shots in table["shots"]})
    levels = [domain for domain in data.domains if not domain.seen]
    if len(numbers) < 3 or len(levels) < 2:
        return None
    budget = numbers[len(numbers) // 2]
    series, sentences = list[Series](), list[str]()
    for number, backbone in enumerate(data.backbones):
        needed = _needed(levels, table, backbone.name, budget)
        if not needed:
            continue
        values = [None if not isfinite(value) else float(np.log2(value)) for value in needed.values()]
        titles = {domain.name: domain.title for domain in levels}
        hover = [f"{backbone.name}, {titles[name]}: {_count(value, numbers)}" for name, value in needed.items()]
        places = [float(list(titles).index(name)) for name in needed]
        series.append(Series(backbone.name, places, values, number % COLOURS, strong=True, hover=hover))
        last = list(needed)[-1]
        sentences.append(
            f"What {_samples(budget)} a concept give {backbone.name} on {levels[0].title} takes "
            f"{_count(needed[last], numbers)} on {titles[last]}."
        )
    if not series:
        return None
    ticks = tuple((float(np.log2(number)), str(number)) for number in numbers)
    plot = Plot("", "Level", "Samples per concept", series, domain_ticks(levels), ticks)
    note = (
        f"Samples per concept at which the few-shot curve of a domain reaches the accuracy that {_samples(budget)} a "
        f"concept give on {levels[0].title}, between the numbers measured by the logarithm of samples. A missing "
        f"point was not reached with {numbers[-1]}."
    )
    return Section("samples", "How many samples make up for a level", sentences, [plot], note)


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
        return f"more than {numbers[-1]}"
    return f"at most {numbers[0]}" if value <= numbers[0] else f"about {value:.0f}"


def concept_section(data: RunData) -> Section | None:
    """Accuracy of each concept against its similarity to the seen ones, with a fitted line for each backbone."""
    known = [item for item in data.concept_accuracy if item.similarity is not None]
    plots, sentences = list[Plot](), list[str]()
    for number, backbone in enumerate(data.backbones):
        own = [item for item in known if item.backbone == backbone.name]
        try:
            slope = similarity_slope(*_columns(own))
        except UserError:  # too few concepts, or all equally similar
            continue
        plots.append(_concept_plot(backbone, number, own, slope))
        low, high = (slope.slope.low / 10, slope.slope.high / 10)
        sentences.append(
            f"For {backbone.name}, a tenth more similarity to the seen concepts goes with "
            f"{signed(slope.slope.value / 10, 2)} in the logit of accuracy ({signed(low, 2)} to {signed(high, 2)})."
        )
    if not plots:
        return None
    note = (
        f"Each point is a concept, {SHOWN:,} at most: the share of its test images classified correctly, over seeds. "
        "The thick line is a binomial regression on similarity, the diamonds are means of twentieths of the concepts; "
        "intervals of 95% are from a bootstrap over concepts."
    )
    return Section("concept-by-concept", "Concept by concept", sentences, plots, note)


def _columns(items: list[ConceptAccuracy]) -> tuple[Floats, Floats, Floats]:
    values = [(item.similarity, item.correct, item.images) for item in items]
    columns = np.array(values, dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def _concept_plot(backbone: Backbone, number: int, items: list[ConceptAccuracy], slope: SimilaritySlope) -> Plot:
    similarity, correct, images = _columns(items)
    accuracy = 100 * correct / images
    order = np.argsort(similarity, kind="stable")
    shown = order[np.linspace(0, len(order) - 1, min(SHOWN, len(order))).round().astype(int)]
    hover = [
        f"{items[i].concept} ({items[i].domain}): {accuracy[i]:.0f}%, similarity {similarity[i]:.2f}" for i in shown
    ]
    grid = np.linspace(similarity.min(), similarity.max(), 40)
    bins = [part for part in np.array_split(order, min(BINS, len(order))) if len(part)]
    colour = number % COLOURS
    series = [
        Series("concepts", similarity[shown].tolist(), accuracy[shown].tolist(), None, mode="markers", hover=hover),
        Series(backbone.name, grid.tolist(), (100 * slope.predict(grid)).tolist(), colour, strong=True, mode="lines"),
        Series(
            "means", [float(similarity[part].mean()) for part in bins], [float(accuracy[part].mean()) for part in bins],
            colour, mode="markers", symbol="diamond",
        ),
    ]  # fmt: skip
    return Plot(backbone.name, "Similarity to the nearest seen concept", "Accuracy of the concept (%)", series)
