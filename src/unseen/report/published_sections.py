"""Sections that set a run beside the models of ImageNet-CoG (Sariyildiz et al. 2021), Figs. 3, 4, 10 and 11."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from unseen.metrics.ranks import ranks_from_draws
from unseen.report.run_data import RunData
from unseen.report.section_parts import COLOURS, domain_ticks, own_series, signed
from unseen.report.sections import Plot, Section, Series
from unseen.results.concept_generalization import (
    DOMAINS,
    LEVELS,
    Accuracies,
    effective_generalization,
    measured_accuracies,
    published_accuracies,
)
from unseen.results.leaderboard import REFERENCE
from unseen.results.published import cog_models, published

CATEGORY_COLOURS = {"reference": 4, "architecture": 0, "self-supervision": 1, "regularization": 2, "web data": 3}
SHOTS = ("1", "2", "4", "8", "16", "32", "64", "128", "all")
FEW_SHOT_DOMAINS = ("l1", "l3", "l5")


def published_sections(data: RunData, summary: pd.DataFrame) -> list[Section]:
    """How a run stands among the published models; none where the run is not one to compare with them."""
    own = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic")]
    own = own[own["domain"].isin(DOMAINS) & own["shots"].isin(SHOTS)]
    if data.published != "cog-v2" or own.empty:
        return []
    found = [_levels(data, own), _few_shots(data, own)]
    complete, _ = measured_accuracies(own)
    if complete.models:
        found[1:1] = [_ranks(complete), _effective(complete)]
    return [section for section in found if section]


def _published(shots: Sequence[str]) -> pd.DataFrame:
    """The printed numbers with the category of each model: shares."""
    table = published("cog-v2").merge(cog_models()[["model", "category", "extra_data"]], on="model")
    return table[table["shots"].isin(shots)].assign(mean=lambda t: t["mean"] / 100)


def _others(table: pd.DataFrame, places: dict[str, float], column: str, base: pd.Series | None = None) -> list[Series]:
    """A thin line for each published model; relative to `base` (share by place) where it is given."""
    lines = []
    for (model, category), part in table.groupby(["model", "category"], sort=False):
        means = part.set_index(column)["mean"]
        known = [name for name in places if name in means.index]
        values = [100 * float(means[name] - (0 if base is None else base[name])) for name in known]
        unit = "%" if base is None else " points"
        hover = [f"{model}, {name}: {value:.1f}{unit}" for name, value in zip(known, values, strict=True)]
        colour = CATEGORY_COLOURS[category]
        lines.append(Series(model, [places[name] for name in known], values, colour, category, hover=hover))
    return lines


def _levels(data: RunData, own: pd.DataFrame) -> Section:
    """Absolute and relative accuracy by level with all samples, or with as many as the run has."""
    shots = next(name for name in reversed(SHOTS) if name in set(own["shots"]))
    table, mine = _published([shots]), own[own["shots"] == shots]
    domains = [domain for domain in data.domains if domain.name in DOMAINS]
    places = {domain.name: float(place) for place, domain in enumerate(domains)}
    base = table[table["model"] == REFERENCE].set_index("domain")["mean"]
    relative = mine.assign(mean=mine["mean"] - mine["domain"].map(base))
    ticks = domain_ticks(domains)
    what = "all samples" if shots == "all" else f"{shots} samples a concept"
    plots = [
        Plot(
            f"Accuracy with {what}", "Domain", "Top-1 accuracy (%)",
            [*_others(table, places, "domain"), *own_series(mine, data.backbones, places, column="domain")], ticks,
        ),
        Plot(
            f"Relative to {REFERENCE}", "Domain", f"Top-1 minus that of {REFERENCE} (points)",
            [
                *_others(table, places, "domain", base),
                *own_series(relative, data.backbones, places, column="domain"),
            ],
            ticks, zero=True,
        ),
    ]  # fmt: skip
    sentences = [text for b in data.backbones if (text := _neighbours(table, mine, b.name, domains[-1].name))]
    note = (
        "Thin lines are the published numbers, coloured by category; thick ones are of this run, with bars of the "
        "deviation over seeds."
    )
    return Section("published", "Among the published models", [*sentences, *_cautions(data)], plots, note)


def _neighbours(table: pd.DataFrame, mine: pd.DataFrame, backbone: str, domain: str) -> str:
    """Between which published models a backbone stands on a domain."""
    found = mine[(mine["backbone"] == backbone) & (mine["domain"] == domain)]["mean"]
    if found.empty:
        return ""
    value = float(found.iloc[0])
    others = table[table["domain"] == domain].sort_values("mean", ascending=False)
    above, below = others[others["mean"] > value], others[others["mean"] <= value]
    parts = [f"below {above.iloc[-1]['model']} ({100 * above.iloc[-1]['mean']:.1f})"] if len(above) else []
    parts += [f"above {below.iloc[0]['model']} ({100 * below.iloc[0]['mean']:.1f})"] if len(below) else []
    return f"On {_title(domain)}, {backbone} has {100 * value:.1f}%: {' and '.join(parts)}."


def _cautions(data: RunData) -> list[str]:
    """Why a comparison is not fair, as the paper warns about its models with web data."""
    own = [f"{b.name} ({', '.join(b.cautions)})" for b in data.backbones if b.cautions]
    return [f"Not a fair comparison: {'; '.join(own)}."] if own else []


def _ranks(complete: Accuracies) -> Section:
    """Where each backbone of the run ranks among the published models on each domain, with an interval of 95%."""
    both = published_accuracies() + complete
    drawn = both.draws()
    ranks = [ranks_from_draws(both.mean[:, place], drawn[:, :, place]) for place in range(len(DOMAINS))]
    point, low, high = (np.stack([getattr(r, part) for r in ranks], axis=1) for part in ("rank", "low", "high"))
    series, sentences = list[Series](), list[str]()
    for number, name in enumerate(complete.models):
        row = len(both.models) - len(complete.models) + number
        hover = [
            f"{name}, {domain}: rank {point[row, i]} ({low[row, i]} to {high[row, i]})"
            for i, domain in enumerate(DOMAINS)
        ]
        series.append(
            Series(
                name, [float(i) for i in range(len(DOMAINS))], point[row].tolist(), number % COLOURS, strong=True,
                low=low[row].tolist(), high=high[row].tolist(), hover=hover,
            )
        )  # fmt: skip
        sentences.append(
            f"Of {len(both.models)} models, {name} ranks {point[row, 0]} on IN-1K and {point[row, -1]} on L5 "
            f"({low[row, -1]} to {high[row, -1]})."
        )
    ticks = tuple((float(i), _title(name)) for i, name in enumerate(DOMAINS))
    plot = Plot("", "Domain", "Rank (1 is best)", series, ticks, top_is_low=True)
    note = (
        "Intervals of 95%: accuracies are drawn anew from their spread over seeds, and the published ones within the "
        "rounding of print too."
    )
    return Section("ranks", "Rank on each level", sentences, [plot], note)


def _effective(complete: Accuracies) -> Section:
    """What a backbone has on each level beyond what its accuracy on IN-1K predicts."""
    found = effective_generalization(complete, published_accuracies())
    series, sentences = list[Series](), list[str]()
    for number, name in enumerate(complete.models):
        values, low, high = (100 * part[number] for part in (found.effective, found.low, found.high))
        hover = [
            f"{name}, {_title(level)}: {signed(v)} points ({signed(a)} to {signed(b)})"
            for level, v, a, b in zip(LEVELS, values, low, high, strict=True)
        ]
        series.append(
            Series(
                name, [float(i) for i in range(len(LEVELS))], values.tolist(), number % COLOURS, strong=True,
                low=low.tolist(), high=high.tolist(), hover=hover,
            )
        )  # fmt: skip
        sure = "" if low[-1] <= 0 <= high[-1] else ", beyond what chance explains"
        sentences.append(
            f"On L5, {name} has {signed(values[-1])} points ({signed(low[-1])} to {signed(high[-1])}) over what its "
            f"accuracy on IN-1K predicts{sure}."
        )
    ticks = tuple((float(i), _title(name)) for i, name in enumerate(LEVELS))
    plot = Plot("", "Level", "Beyond expectation (points)", series, ticks, zero=True)
    note = (
        "Expected is what a logit-linear fit over the published models trained on IN-1K alone gives for the same "
        "accuracy on IN-1K; intervals of 95% draw those models anew, and accuracies from their spread over seeds."
    )
    return Section("effective", "Effective concept generalization", sentences, [plot], note)


def _few_shots(data: RunData, own: pd.DataFrame) -> Section | None:
    """Accuracy by samples per concept, beside the published models."""
    wanted = [name for name in SHOTS if name in set(own["shots"])]
    chosen = [name for name in FEW_SHOT_DOMAINS if name in set(own["domain"])] or sorted(set(own["domain"]))
    if len(wanted) < 2:
        return None
    table = _published(SHOTS)
    places = {name: float(place) for place, name in enumerate(SHOTS)}
    plots = [
        Plot(
            _title(domain), "Samples per concept", "Top-1 accuracy (%)",
            [
                *_others(table[table["domain"] == domain], places, "shots"),
                *own_series(own[own["domain"] == domain], data.backbones, places, column="shots"),
            ],
            tuple((place, name) for name, place in places.items()),
        )
        for domain in chosen
    ]  # fmt: skip
    sentences = [
        text for backbone in data.backbones
        if (text := _neighbours(
            table[table["shots"] == wanted[0]], own[own["shots"] == wanted[0]], backbone.name, chosen[-1]
        ))
    ]  # fmt: skip
    first = "one sample" if wanted[0] == "1" else f"{wanted[0]} samples"
    return Section(
        "published-few-shots", "Few shots among the published models",
        [f"With {first} a concept: {text[0].lower()}{text[1:]}" for text in sentences], plots,
    )  # fmt: skip


def _title(domain: str) -> str:
    return "IN-1K" if domain == "in1k" else domain.upper()
