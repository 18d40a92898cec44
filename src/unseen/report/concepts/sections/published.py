"""Accuracy by level among the published models (Fig. 3 of ImageNet-CoG, Sariyildiz et al. 2021)."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import bars_text, comparable, domain_ticks, first_few, neighbours
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.model_lines import SHOTS, level_figures, published_table
from unseen.runs.comparability_words import comparison_notices, searched_with
from unseen.runs.data import RunData
from unseen.text.words import joined


def build(context: ConceptContext) -> Section | None:
    """Absolute and relative accuracy by level with all samples, or with as many as the run has."""
    data, own = context.data, comparable(context)
    if own.empty:
        return None
    shots = next(name for name in reversed(SHOTS) if name in set(own["shots"]))
    table, mine = published_table([shots]), own[own["shots"] == shots]
    domains = [domain for domain in data.domains if domain.name in set(mine["domain"])]
    figures = level_figures(data.backbones, table, mine, domain_ticks(domains), [domain.name for domain in domains])
    between = neighbours(data, table, mine, domains[-1].name)
    sentences = first_few([between[b.name] for b in data.backbones if b.name in between])
    note = (
        f"Thin lines are published numbers, coloured by category; thick lines are of this run{searched_with(data)}. "
        f"Error bars are {bars_text(mine)}."
    )
    told = [*sentences, *comparison_notices(data), *_cautions(data)]
    return Section("published", "Among the published models", told, figures, note)


def _cautions(data: RunData) -> list[str]:
    """Why a comparison is not fair, as the paper warns about its models with web data."""
    by_cautions: dict[str, list[str]] = {}
    for backbone in data.backbones:
        if backbone.cautions:
            by_cautions.setdefault(", ".join(each.text for each in backbone.cautions), []).append(backbone.name)
    own = [f"{joined(names)} ({text})" for text, names in by_cautions.items()]
    return [f"Not a fair comparison: {'; '.join(own)}."] if own else []


SECTION = PageSection("concepts", 30, build)
