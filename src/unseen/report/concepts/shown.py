"""Which backbones the page of a large run shows: as many as a browser can draw and a file of 10 MB can hold."""

from collections import defaultdict
from dataclasses import replace
from statistics import fmean

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.rows import main_row

MOST_ROWS = 4000
"""Rows of the table of all scores, about 1 KB each with their figures."""
FEWEST_BACKBONES = 100


def shown_part(context: ConceptContext) -> tuple[ConceptContext, list[str]]:
    """The baseline and the backbones of greatest mean accuracy, and a sentence where that is not all of them.

    Ranks stay those among all.
    """
    data = context.data
    many = len(data.backbones)
    most = max(FEWEST_BACKBONES, MOST_ROWS * many // max(len(context.rows), 1))
    if many <= most or not context.plotted:
        return context, []
    chosen = main_row(context.plotted)
    means = defaultdict[str, list[float]](list)
    for row in context.plotted:
        if (row.setting, row.shots, row.metric) == (chosen.setting, chosen.shots, chosen.metric):
            means[row.backbone].append(row.mean)
    best = sorted(means, key=lambda name: -fmean(means[name]))
    names = set([data.baseline, *(name for name in best if name != data.baseline)][:most])
    part = replace(
        data,
        backbones=[backbone for backbone in data.backbones if backbone.name in names],
        scores=[score for score in data.scores if score.backbone in names],
        concept_accuracy=[each for each in data.concept_accuracy if each.backbone in names],
        concept_hits=[each for each in data.concept_hits if each.backbone in names],
        scored=[each for each in data.scored if each.backbone in names],
    )
    sentence = (
        f"This page shows {len(part.backbones):,} of {many:,} backbones: the baseline and those with the highest mean "
        "accuracy. Ranks in the table of all scores are among all backbones; unseen report --table writes every score."
    )
    return ConceptContext(part, context.pairs, context.rows), [sentence]
