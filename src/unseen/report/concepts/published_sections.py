"""Sections that set a run beside the models of ImageNet-CoG (Sariyildiz et al. 2021), Figs. 3, 4, 10 and 11."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from unseen.metrics.ranks import ranks_from_draws
from unseen.papers import cog_models, published
from unseen.papers.concept_generalization import (
    DOMAINS,
    LEVELS,
    Accuracies,
    effective_generalization,
    measured_accuracies,
    published_accuracies,
)
from unseen.papers.leaderboard import REFERENCE
from unseen.report.concepts.section_parts import YOURS, domain_ticks, own_colour, own_series
from unseen.report.core.sections import Plot, Section, Series, Ticks
from unseen.runs.comparability_words import comparison_notices
from unseen.runs.data import Backbone, RunData
from unseen.runs.tables import with_concept_intervals
from unseen.words import signed

CATEGORY_COLOURS = {"reference": 4, "architecture": 0, "self-supervision": 1, "regularization": 2, "web data": 3}
SHOTS = ("1", "2", "4", "8", "16", "32", "64", "128", "all")
USUALLY_OFF = (
    "Off the line is where many models are: of the 31 published ones, 14 on L5 after correction for all comparisons "
    "(Holm). None of them is further off than models usually are, so distance from the line alone makes no exception."
)


def published_sections(data: RunData, summary: pd.DataFrame) -> list[Section]:
    """How a run stands among the published models, as far as it is of the same data (`RunData.comparisons`)."""
    own = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic")]
    same = [
        pair in data.comparisons and data.comparisons[pair].allowed
        for pair in zip(own["backbone"], own["domain"], strict=True)
    ]
    own = own[np.array(same, dtype=bool) & own["shots"].isin(SHOTS)]
    if data.published != "cog-v2" or own.empty:
        return []
    own = with_concept_intervals(own, data.concept_intervals)
    found = [_levels(data, own), _few_shots(data, own)]
    complete, _ = measured_accuracies(own)
    if complete.models:
        found[1:1] = [_ranks(data, complete), _effective(complete)]
    return [section for section in found if section]


def published_table(shots: Sequence[str]) -> pd.DataFrame:
    """The printed numbers with the category of each model, one category after another: shares."""
    table = published("cog-v2").merge(cog_models()[["model", "category", "extra_data"]], on="model")
    order = list(CATEGORY_COLOURS)
    table = table.sort_values("category", key=lambda names: names.map(order.index), kind="stable")
    return table[table["shots"].isin(shots)].assign(mean=lambda t: t["mean"] / 100)


def published_lines(
    table: pd.DataFrame,
    places: dict[str, float],
    column: str,
    *,
    scale: float = 100,
    dash: str = "solid",
    what: str = "",
) -> list[Series]:
    """A thin line for each published model, in the colour of its category.

    Args:
        table: with the columns model, category, mean and `column`.
        places: value of `column` → where it is on the x axis; what is not among them is left out.
        scale: what means are multiplied with: 100 for percent.
        what: of a model the line is, for its texts.
    """
    lines = []
    for (model, category), part in table.groupby(["model", "category"], sort=False):
        means = part.set_index(column)["mean"]
        known = [place for place in places if place in means.index]
        values = [scale * float(means[place]) for place in known]
        name = f"{model}, {what}" if what else model
        hover = [
            f"{name}, {place}: {value:.1f}" if scale == 100 else f"{name}, {place}: {value:.3f}"
            for place, value in zip(known, values, strict=True)
        ]
        lines.append(
            Series(
                name, [places[place] for place in known], values, CATEGORY_COLOURS[category], category, dash=dash,
                symbol="circle" if dash == "solid" else "diamond", hover=hover,
            )
        )  # fmt: skip
    return lines


def _relative(table: pd.DataFrame, base: pd.DataFrame) -> pd.DataFrame:
    """Accuracies, and the ends of their intervals, minus the mean of `base` on the same domain with the same shots."""
    by = pd.MultiIndex.from_frame(table[["domain", "shots"]])
    less = base.set_index(["domain", "shots"])["mean"].reindex(by).to_numpy()
    names = [name for name in ("mean", "concept_low", "concept_high") if name in table.columns]
    return table.assign(**{name: table[name] - less for name in names})


def _bars(own: pd.DataFrame) -> str:
    """What the bars of a run's points are, in words."""
    known = own["concept_low"].notna()
    if not known.any():
        return "the deviation over seeds"
    found = "the interval of 95% over seeds and concepts, as other concepts at that distance would vary"
    return found if known.all() else f"{found}, or the deviation over seeds where results do not tell concepts apart"


def _levels(data: RunData, own: pd.DataFrame) -> Section:
    """Absolute and relative accuracy by level with all samples, or with as many as the run has."""
    shots = next(name for name in reversed(SHOTS) if name in set(own["shots"]))
    table, mine = published_table([shots]), own[own["shots"] == shots]
    domains = [domain for domain in data.domains if domain.name in set(mine["domain"])]
    plots = level_plots(data.backbones, table, mine, domain_ticks(domains), [domain.name for domain in domains])
    sentences = [text for b in data.backbones if (text := _neighbours(table, mine, b.name, domains[-1].name))]
    note = (
        f"Thin lines are the published numbers, coloured by category; thick ones are of this run, with bars of "
        f"{_bars(mine)}."
    )
    told = [*sentences, *comparison_notices(data), *_cautions(data)]
    return Section("published", "Among the published models", told, plots, note)


def level_plots(
    backbones: Sequence[Backbone], table: pd.DataFrame, mine: pd.DataFrame, ticks: Ticks, domains: Sequence[str]
) -> list[Plot]:
    """Accuracy by domain, and relative to the reference, of the published models and of a user's backbones.

    Args:
        table, mine: rows of one number of shots.
        ticks: the domains as they are written, in their order.
    """
    (shots,) = set(table["shots"])
    places = {name: float(place) for place, name in enumerate(domains)}
    base = table[table["model"] == REFERENCE]
    what = "all samples" if shots == "all" else f"{shots} samples a concept"
    return [
        Plot(
            f"Accuracy with {what}", "Domain", "Top-1 accuracy (%)",
            _lines(backbones, table, mine, places, "domain"), ticks,
        ),
        Plot(
            f"Relative to {REFERENCE}", "Domain", f"Top-1 minus that of {REFERENCE} (points)",
            _lines(backbones, _relative(table, base), _relative(mine, base), places, "domain"), ticks, zero=True,
        ),
    ]  # fmt: skip


def _lines(
    backbones: Sequence[Backbone], table: pd.DataFrame, mine: pd.DataFrame, places: dict[str, float], column: str
) -> list[Series]:
    """Those of the published models, and of the user's backbones in colours that no category has."""
    own = own_series(mine, backbones, places, column=column, first=YOURS)
    return [*published_lines(table, places, column), *own]


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
    own = [f"{b.name} ({', '.join(each.text for each in b.cautions)})" for b in data.backbones if b.cautions]
    return [f"Not a fair comparison: {'; '.join(own)}."] if own else []


def _ranks(data: RunData, complete: Accuracies) -> Section:
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
                name, [float(i) for i in range(len(DOMAINS))], point[row].tolist(), own_colour(number, YOURS),
                strong=True, low=low[row].tolist(), high=high[row].tolist(), hover=hover,
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
    return Section("ranks", "Rank on each level", [*sentences, *comparison_notices(data)], [plot], note)


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
                name, [float(i) for i in range(len(LEVELS))], values.tolist(), own_colour(number, YOURS), strong=True,
                low=low.tolist(), high=high.tolist(), hover=hover,
            )
        )  # fmt: skip
        sure = "" if low[-1] <= 0 <= high[-1] else ", an interval that leaves out 0"
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
    return Section("effective", "Effective concept generalization", [*sentences, USUALLY_OFF], [plot], note)


def _few_shots(data: RunData, own: pd.DataFrame) -> Section | None:
    """Accuracy by samples per concept beside the published models, then relative to the reference, on each domain."""
    wanted = [name for name in SHOTS if name in set(own["shots"])]
    chosen = [name for name in DOMAINS if name in set(own["domain"])]
    if len(wanted) < 2:
        return None
    table = published_table(SHOTS)
    sentences = [
        text for backbone in data.backbones
        if (text := _neighbours(
            table[table["shots"] == wanted[0]], own[own["shots"] == wanted[0]], backbone.name, chosen[-1]
        ))
    ]  # fmt: skip
    first = "one sample" if wanted[0] == "1" else f"{wanted[0]} samples"
    return Section(
        "published-few-shots", "Few shots among the published models",
        [f"With {first} a concept: {text[0].lower()}{text[1:]}" for text in sentences],
        few_shot_plots(data.backbones, table, own, chosen), f"Bars are {_bars(own)}.",
    )  # fmt: skip


def few_shot_plots(
    backbones: Sequence[Backbone], table: pd.DataFrame, mine: pd.DataFrame, domains: Sequence[str]
) -> list[Plot]:
    """Accuracy by samples per concept on each domain, then the same relative to the reference; as in `level_plots`."""
    base = table[table["model"] == REFERENCE]
    places = {name: float(place) for place, name in enumerate(SHOTS)}
    ticks = tuple((place, name) for name, place in places.items())
    absolute, relative = list[Plot](), list[Plot]()
    for domain in domains:
        others, own = (part[part["domain"] == domain] for part in (table, mine))
        absolute.append(
            Plot(
                _title(domain), "Samples per concept", "Top-1 accuracy (%)",
                _lines(backbones, others, own, places, "shots"), ticks,
            )
        )  # fmt: skip
        relative.append(
            Plot(
                f"{_title(domain)}, relative to {REFERENCE}", "Samples per concept",
                f"Minus {REFERENCE} (points)",
                _lines(backbones, _relative(others, base), _relative(own, base), places, "shots"), ticks, zero=True,
            )
        )  # fmt: skip
    return [*absolute, *relative]


def _title(domain: str) -> str:
    return "IN-1K" if domain == "in1k" else domain.upper()
