"""What the builders of sections share: where domains stand on an axis, and texts of points."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from unseen.report.core.model import Series, Ticks
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.tables import percent_text

MOST_SENTENCES = 20


def domain_ticks(domains: Sequence[Domain]) -> Ticks:
    """Domains side by side, in their order."""
    return tuple((float(place), domain.title) for place, domain in enumerate(domains))


def title_of(data: RunData, name: str) -> str:
    """The title of a domain."""
    return next(domain.title for domain in data.domains if domain.name == name)


def by_domain(data: RunData, column: "pd.Series[float]", backbone: str) -> dict[str, float]:
    """Domain → value of a backbone, for the domains that have one, in order; `column` is by backbone and domain."""
    known = column.dropna()
    return {d.name: float(known[backbone, d.name]) for d in data.domains if (backbone, d.name) in known.index}


def first_few(sentences: Sequence[str]) -> list[str]:
    """Sentences of backbones: those of the first, and how many others there are, where nobody would read them all."""
    left = len(sentences) - MOST_SENTENCES
    if left <= 0:
        return list(sentences)
    return [*sentences[:MOST_SENTENCES], f"The figure and the table of all scores show {left:,} more."]


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
