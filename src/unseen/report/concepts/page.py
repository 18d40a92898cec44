"""The page of a run of the concept study, or of several that were merged."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from unseen.analyses.core.comparables import Comparables
from unseen.report.concepts.context import ConceptContext, complete
from unseen.report.concepts.findings import findings
from unseen.report.concepts.rows import METRICS, Row, main_row, seen_domain, shots_order, unique
from unseen.report.concepts.terms import concept_terms
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Backbone, Page
from unseen.report.core.render import write_page
from unseen.runs.comparability_words import comparison_notices
from unseen.runs.data import RunData
from unseen.text.words import counted

MOST_ROWS = 4000
"""Rows of the table of all scores, about 1 KB each with their figures."""
FEWEST_BACKBONES = 100
NOTHING = Comparables(())


def write_report(data: RunData, path: Path) -> None:
    """Write the page of a run."""
    write_page(concept_page(data), path)


def concept_page(data: RunData, every: Comparables = NOTHING) -> Page:
    """The page.

    Args:
        every: what can be compared in the run, which decides who is called best.
    """
    context, left_out = shown_part(ConceptContext(complete(data)))
    data = context.data
    settings = unique(row.setting for row in context.rows)
    shots = sorted({row.shots for row in context.rows}, key=shots_order)
    flaws = "\n".join(data.flaw_sentences)
    return Page(
        title=data.title,
        sections=build_sections("concepts", context),
        facts=[
            settings[0] if len(settings) == 1 else f"{len(settings)} kinds of probe",
            counted(len(data.backbones), "backbone"), counted(len(data.domains), "domain"),
            f"shots {', '.join(shots)}", counted(len({score.seed for score in data.scores}), "seed"),
        ],
        notices=[*left_out, *filter(None, [data.notice]), *comparison_notices(data), *filter(None, [flaws])],
        findings=findings(context.main, context.plotted, context.drops, every) if context.plotted else [],
        terms=concept_terms(context) if context.plotted else [],
        backbones=[Backbone(b.name, b.category, b.description) for b in data.backbones],
        beside_published=bool(data.published),
        scripts=["levels.js"],
        data=_drawn(context),
    )  # fmt: skip


def _drawn(context: ConceptContext) -> dict[str, Any]:
    """What `levels.js` draws."""
    return {
        "seen": seen_domain(context.data),
        "domains": [{"name": domain.name, "title": domain.title} for domain in context.main.domains],
        "metrics": METRICS,
        "rows": [
            [
                r.setting, r.backbone, r.domain, r.shots, r.metric, r.mean, r.deviation, r.values,
                _ends(r, r.concept_low, r.concept_high), _drop_ends(context, r),
            ]
            for r in context.plotted
        ],
        "differences": [[*pair, found.low, found.high] for pair, found in context.differences.items()],
    }  # fmt: skip


def _drop_ends(context: ConceptContext, row: Row) -> list[float] | None:
    drop = context.drops.get((row.backbone, row.domain, row.shots))
    return _ends(row, drop.low, drop.high) if drop else None


def _ends(row: Row, low: float | None, high: float | None) -> list[float] | None:
    """An interval over concepts, for rows of the metric and the probe that have some."""
    return None if row.concept_low is None or low is None or high is None else [low, high]


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
    return ConceptContext(part, context.rows), [sentence]
