"""The page of a run of the concept study, or of several that were merged."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unseen.report.concepts.context import ConceptContext, complete
from unseen.report.concepts.findings import findings
from unseen.report.concepts.rows import METRICS, Row, seen_domain, shots_order, unique
from unseen.report.concepts.shown import shown_part
from unseen.report.concepts.terms import concept_terms
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Backbone, Page
from unseen.report.core.render import write_page
from unseen.runs.comparability_words import comparison_notices
from unseen.runs.data import RunData
from unseen.studies.concepts.comparison import PairComparison
from unseen.words import counted


def write_report(data: RunData, path: Path, pairs: Sequence[PairComparison] = ()) -> None:
    """Write the page of a run."""
    write_page(concept_page(data, pairs), path)


def concept_page(data: RunData, pairs: Sequence[PairComparison] = ()) -> Page:
    """The page; `pairs` are backbones that were compared with each other, image by image."""
    context, left_out = shown_part(ConceptContext(complete(data), pairs))
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
        findings=findings(context.main, context.plotted, context.drops, context.pair_test) if context.plotted else [],
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
