"""What the builders of sections share: where domains stand on an axis, and the run beside the published models."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from unseen.report.concepts.context import ConceptContext
from unseen.report.core.model import Ticks
from unseen.report.core.model_lines import SHOTS, domain_title
from unseen.runs.comparability_words import with_protocol
from unseen.runs.data import Domain, RunData

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


def bars_text(own: pd.DataFrame) -> str:
    """What the bars of a run's points are, in words."""
    known = own["concept_low"].notna()
    if not known.any():
        return "the standard deviation over seeds"
    found = "95% intervals over concepts and seeds"
    return (
        found if known.all() else f"{found}, or the standard deviation over seeds if there are no results per concept"
    )


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
