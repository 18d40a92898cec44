"""What the builders of sections share: where domains stand on an axis, and texts of points."""

from collections.abc import Sequence

import pandas as pd

from unseen.report.run_data import Backbone, Domain
from unseen.report.sections import Series, Ticks

COLOURS = 8


def domain_ticks(domains: Sequence[Domain]) -> Ticks:
    """Domains side by side, in their order."""
    return tuple((float(place), domain.title) for place, domain in enumerate(domains))


def signed(value: float, digits: int = 1) -> str:
    """A difference as it is written for a reader: a minus that is no hyphen, and no sign before a zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def own_series(
    table: pd.DataFrame, backbones: Sequence[Backbone], places: dict[str, float], *, column: str, scale: float = 100
) -> list[Series]:
    """A strong line for each backbone of the run.

    Args:
        table: rows of one probe, shots and metric, with the columns backbone, mean, deviation and `column`.
        places: value of `column` → where it is on the x axis; what is not among them is left out.
        scale: what values are multiplied with: 100 for percent.
    """
    lines = []
    for number, backbone in enumerate(backbones):
        part = table[table["backbone"] == backbone.name].drop_duplicates(column).set_index(column)
        known = [name for name in places if name in part.index]
        if not known:
            continue
        means = [scale * float(part.loc[name, "mean"]) for name in known]
        spreads = [scale * float(part.loc[name, "deviation"]) for name in known]
        lines.append(
            Series(
                name=backbone.name,
                x=[places[name] for name in known],
                y=means,
                colour=number % COLOURS,
                strong=True,
                low=[mean - spread for mean, spread in zip(means, spreads, strict=True)],
                high=[mean + spread for mean, spread in zip(means, spreads, strict=True)],
                hover=[
                    f"{backbone.name}, {name}: {mean:.1f} ± {spread:.1f}"
                    if scale == 100
                    else f"{backbone.name}, {name}: {mean:.3f}"
                    for name, mean, spread in zip(known, means, spreads, strict=True)
                ],
            )
        )
    return lines
