"""Where each backbone ranks among the published models (Fig. 10 of ImageNet-CoG)."""

import numpy as np

from unseen.metrics.ranks import ranks_from_draws
from unseen.papers.concept_generalization import DOMAINS, measured_accuracies, published_accuracies
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import comparable, first_few
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.model_lines import domain_title
from unseen.runs.comparability_words import comparison_notices, with_protocol


def build(context: ConceptContext) -> Section | None:
    """Where each backbone of the run ranks among the published models on each domain, with an interval of 95%."""
    complete, _ = measured_accuracies(comparable(context))
    if not complete.models:
        return None
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
                name, [float(i) for i in range(len(DOMAINS))], point[row].tolist(), strong=True, backbone=name,
                low=low[row].tolist(), high=high[row].tolist(), hover=hover,
            )
        )  # fmt: skip
        sentences.append(
            f"Of {len(both.models)} models, {with_protocol(context.data, name)} ranks {point[row, 0]} on IN-1K and "
            f"{point[row, -1]} on L5 ({low[row, -1]} to {high[row, -1]})."
        )
    ticks = tuple((float(i), domain_title(name)) for i, name in enumerate(DOMAINS))
    figure = Figure("", "Domain", "Rank (1 is best)", series, ticks, top_is_low=True)
    note = (
        "95% intervals: accuracies are resampled within their spread over seeds, and published ones also within the "
        "rounding of print too."
    )
    return Section(
        "ranks", "Rank on each level", [*first_few(sentences), *comparison_notices(context.data)], [figure], note
    )


SECTION = PageSection("concepts", 40, build)
