"""Lines of a user's backbones and of the models of ImageNet-CoG (Sariyildiz et al. 2021), and figures of both."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from unseen.papers import cog_models, published
from unseen.papers.concept_generalization import SEEN
from unseen.papers.leaderboard import REFERENCE
from unseen.report.core.model import Figure, Series, Ticks
from unseen.report.core.panels import y_range
from unseen.runs.data import Backbone
from unseen.runs.tables import percent_text

CATEGORY_COLOURS = {"reference": 4, "architecture": 0, "self-supervision": 1, "regularization": 2, "web data": 3}
SHOTS = ("1", "2", "4", "8", "16", "32", "64", "128", "all")


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
    found: dict[tuple[str, str], dict[str, float]] = {}
    for model, category, place, mean in table[["model", "category", column, "mean"]].itertuples(index=False):
        found.setdefault((model, category), {})[place] = mean
    lines = []
    for (model, category), means in found.items():
        known = [place for place in places if place in means]
        values = [scale * means[place] for place in known]
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


def own_series(
    table: pd.DataFrame,
    backbones: Sequence[Backbone],
    places: dict[str, float],
    *,
    column: str,
    scale: float = 100,
) -> list[Series]:
    """A strong line for each backbone of the run.

    Args:
        table: rows of one probe, shots and metric, with the columns backbone, mean, deviation and `column`. Bars are
            the interval over concepts where it has that (`with_concept_intervals`), otherwise the deviation over seeds.
        places: value of `column` → where it is on the x axis; what is not among them is left out.
        scale: what values are multiplied with: 100 for percent.
    """
    cells = dict[tuple[str, str], dict[str, Any]]()
    for row in table.to_dict("records"):
        cells.setdefault((row["backbone"], row[column]), row)
    lines = []
    for backbone in backbones:
        known = [name for name in places if (backbone.name, name) in cells]
        if not known:
            continue
        points = [_point(cells[backbone.name, name], scale) for name in known]
        lines.append(
            Series(
                name=backbone.name,
                x=[places[name] for name in known],
                y=[mean for mean, *_ in points],
                backbone=backbone.name,
                strong=True,
                low=[low for _, low, _, _ in points],
                high=[high for _, _, high, _ in points],
                hover=[f"{backbone.name}, {name}: {text}" for name, (*_, text) in zip(known, points, strict=True)],
            )
        )
    return lines


def _point(row: Mapping[str, Any], scale: float) -> tuple[float, float | None, float | None, str]:
    """Mean, the ends of its bar where it has one, and its text."""
    mean, spread = scale * float(row["mean"]), scale * float(row["deviation"])
    ends = (None, None) if pd.isna(spread) else (mean - spread, mean + spread)
    if scale != 100:
        return mean, *ends, f"{mean:.3f}"
    if pd.isna(row.get("concept_low")):
        return mean, *ends, percent_text(row["mean"], row["deviation"])
    low, high = scale * float(row["concept_low"]), scale * float(row["concept_high"])
    return mean, low, high, f"{mean:.1f} ({low:.1f} to {high:.1f})"


def level_figures(
    backbones: Sequence[Backbone], table: pd.DataFrame, mine: pd.DataFrame, ticks: Ticks, domains: Sequence[str]
) -> list[Figure]:
    """Accuracy by domain, and relative to the reference, of the published models and of a user's backbones.

    Args:
        table, mine: rows of one number of shots.
        ticks: the domains as they are written, in their order.
    """
    (shots,) = set(table["shots"])
    places = {name: float(place) for place, name in enumerate(domains)}
    base = table[table["model"] == REFERENCE]
    what = "all samples" if shots == "all" else f"{shots} samples per concept"
    return [
        Figure(
            f"Accuracy with {what}", "Domain", "Top-1 accuracy (%)",
            _lines(backbones, table, mine, places, "domain"), ticks,
        ),
        Figure(
            f"Relative to {REFERENCE}", "Domain", f"Top-1 minus that of {REFERENCE} (points)",
            _lines(backbones, _relative(table, base), _relative(mine, base), places, "domain"), ticks, zero=True,
        ),
    ]  # fmt: skip


def few_shot_figures(
    backbones: Sequence[Backbone], table: pd.DataFrame, mine: pd.DataFrame, domains: Sequence[str]
) -> list[Figure]:
    """Accuracy by samples per concept on each domain, then relative to the reference; as in `level_figures`."""
    base = table[table["model"] == REFERENCE]
    places = {name: float(place) for place, name in enumerate(SHOTS)}
    ticks = tuple((place, name) for name, place in places.items())
    absolute, relative = list[Figure](), list[Figure]()
    for domain in domains:
        others, own = (part[part["domain"] == domain] for part in (table, mine))
        absolute.append(
            Figure(
                domain_title(domain), "Samples per concept", "Top-1 accuracy (%)",
                _lines(backbones, others, own, places, "shots"), ticks,
            )
        )  # fmt: skip
        relative.append(
            Figure(
                f"{domain_title(domain)}, relative to {REFERENCE}", "Samples per concept",
                f"Minus {REFERENCE} (points)",
                _lines(backbones, _relative(others, base), _relative(own, base), places, "shots"), ticks, zero=True,
            )
        )  # fmt: skip
    # Differences on seen concepts are much larger, so they have a y-range of their own.
    own_range = [
        replace(each, y_range=y_range([each])) if name == SEEN else each
        for each, name in zip(relative, domains, strict=True)
    ]
    return [*absolute, *own_range]


def _lines(
    backbones: Sequence[Backbone], table: pd.DataFrame, mine: pd.DataFrame, places: dict[str, float], column: str
) -> list[Series]:
    """Those of the published models, and of the user's backbones."""
    own = own_series(mine, backbones, places, column=column)
    return [*published_lines(table, places, column), *own]


def _relative(table: pd.DataFrame, base: pd.DataFrame) -> pd.DataFrame:
    """Accuracies, and the ends of their intervals, minus the mean of `base` on the same domain with the same shots."""
    by = pd.MultiIndex.from_frame(table[["domain", "shots"]])
    less = base.set_index(["domain", "shots"])["mean"].reindex(by).to_numpy()
    names = [name for name in ("mean", "concept_low", "concept_high") if name in table.columns]
    return table.assign(**{name: table[name] - less for name in names})


def domain_title(domain: str) -> str:
    return "IN-1K" if domain == "in1k" else domain.upper()
