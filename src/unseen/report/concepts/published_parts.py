"""What sections share that set a run beside the models of ImageNet-CoG (Sariyildiz et al. 2021)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from unseen.papers import cog_models, published
from unseen.papers.concept_generalization import SEEN
from unseen.papers.leaderboard import REFERENCE
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import own_series
from unseen.report.core.model import Figure, Series, Ticks
from unseen.report.core.panels import y_range
from unseen.runs.comparability_words import with_protocol
from unseen.runs.data import Backbone, RunData

CATEGORY_COLOURS = {"reference": 4, "architecture": 0, "self-supervision": 1, "regularization": 2, "web data": 3}
SHOTS = ("1", "2", "4", "8", "16", "32", "64", "128", "all")


def comparable(context: ConceptContext) -> pd.DataFrame:
    """The run's accuracies that are of the same data as the published ones (`RunData.comparisons`); maybe none."""
    data, summary = context.data, context.summary
    own = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic")]
    same = [
        pair in data.comparisons and data.comparisons[pair].allowed
        for pair in zip(own["backbone"], own["domain"], strict=True)
    ]
    own = own[np.array(same, dtype=bool) & own["shots"].isin(SHOTS)]
    return own if data.published == "cog-v2" else own.iloc[:0]


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


def _relative(table: pd.DataFrame, base: pd.DataFrame) -> pd.DataFrame:
    """Accuracies, and the ends of their intervals, minus the mean of `base` on the same domain with the same shots."""
    by = pd.MultiIndex.from_frame(table[["domain", "shots"]])
    less = base.set_index(["domain", "shots"])["mean"].reindex(by).to_numpy()
    names = [name for name in ("mean", "concept_low", "concept_high") if name in table.columns]
    return table.assign(**{name: table[name] - less for name in names})


def bars_text(own: pd.DataFrame) -> str:
    """What the bars of a run's points are, in words."""
    known = own["concept_low"].notna()
    if not known.any():
        return "the standard deviation over seeds"
    found = "95% bootstrap intervals over concepts and seeds"
    return (
        found if known.all() else f"{found}, or the standard deviation over seeds if there are no results per concept"
    )


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


def _lines(
    backbones: Sequence[Backbone], table: pd.DataFrame, mine: pd.DataFrame, places: dict[str, float], column: str
) -> list[Series]:
    """Those of the published models, and of the user's backbones."""
    own = own_series(mine, backbones, places, column=column)
    return [*published_lines(table, places, column), *own]


def neighbours(data: RunData, table: pd.DataFrame, mine: pd.DataFrame, domain: str) -> dict[str, str]:
    """Backbone → between which published models it stands on a domain."""
    others = table[table["domain"] == domain].sort_values("mean", ascending=False)
    models, means = others["model"].tolist(), others["mean"].tolist()
    own = mine[mine["domain"] == domain].drop_duplicates("backbone")
    sentences = {}
    for backbone, value in zip(own["backbone"], own["mean"].tolist(), strict=True):
        above = sum(mean > value for mean in means)
        parts = [f"below {models[above - 1]} ({100 * means[above - 1]:.1f})"] if above else []
        parts += [f"above {models[above]} ({100 * means[above]:.1f})"] if above < len(models) else []
        name = with_protocol(data, backbone)
        sentences[backbone] = f"On {domain_title(domain)}, {name} has {100 * value:.1f}%: {' and '.join(parts)}."
    return sentences


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


def domain_title(domain: str) -> str:
    return "IN-1K" if domain == "in1k" else domain.upper()
