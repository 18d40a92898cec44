"""The continuous picture behind the levels: each concept's accuracy over its similarity to the seen ones."""

import numpy as np

from unseen.errors import UserError
from unseen.metrics.resampling import Floats
from unseen.metrics.slope import SimilaritySlope, similarity_slope
from unseen.report.concepts.context import ConceptContext
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.runs.data import ConceptAccuracy
from unseen.text.words import signed

BINS = 20
SHOWN = 1000
"""Concepts drawn in a figure, evenly over similarity: browsers get slow with more. Lines are of all."""


def build(context: ConceptContext) -> Section | None:
    """Accuracy of each concept against its similarity to the seen ones, with a fitted line for each backbone."""
    data = context.main
    known = [item for item in data.concept_accuracy if item.similarity is not None]
    figures, sentences = list[Figure](), list[str]()
    for backbone in data.backbones:
        own = [item for item in known if item.backbone == backbone.name]
        try:
            slope = similarity_slope(*_columns(own))
        except UserError:  # too few concepts, or all equally similar
            continue
        figures.append(_concept_figure(backbone.name, own, slope))
        low, high = (slope.slope.low / 10, slope.slope.high / 10)
        sentences.append(
            f"For {backbone.name}, 0.1 more similarity to the seen concepts goes with "
            f"{signed(slope.slope.value / 10, 2)} in the logit of accuracy ({signed(low, 2)} to {signed(high, 2)})."
        )
    if not figures:
        return None
    note = (
        f"Each point is a concept, {SHOWN:,} at most: the share of its test images classified correctly, over seeds. "
        f"The line is a binomial regression on similarity. The large points are means of up to {BINS} equal groups of "
        "concepts, by similarity. Intervals of 95% are from a bootstrap over concepts."
    )
    return Section("concept-by-concept", "Concept by concept", sentences, figures, note)


def _columns(items: list[ConceptAccuracy]) -> tuple[Floats, Floats, Floats]:
    values = [(item.similarity, item.correct, item.images) for item in items]
    columns = np.array(values, dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def _concept_figure(backbone: str, items: list[ConceptAccuracy], slope: SimilaritySlope) -> Figure:
    similarity, correct, images = _columns(items)
    accuracy = 100 * correct / images
    order = np.argsort(similarity, kind="stable")
    shown = order[np.linspace(0, len(order) - 1, min(SHOWN, len(order))).round().astype(int)]
    hover = [
        f"{items[i].concept} ({items[i].domain}): {accuracy[i]:.0f}%, similarity {similarity[i]:.2f}" for i in shown
    ]
    grid = np.linspace(similarity.min(), similarity.max(), 40)
    bins = [part for part in np.array_split(order, min(BINS, len(order))) if len(part)]
    means = [(float(similarity[part].mean()), float(accuracy[part].mean())) for part in bins]
    series = [
        Series("concepts", similarity[shown].tolist(), accuracy[shown].tolist(), None, mode="markers", hover=hover),
        Series(
            backbone, grid.tolist(), (100 * slope.predict(grid)).tolist(), strong=True, mode="lines", backbone=backbone
        ),
        Series(
            backbone, [x for x, _ in means], [y for _, y in means], strong=True, mode="markers", backbone=backbone,
            hover=[f"mean of {len(part)} concepts: {y:.1f}%" for part, (_, y) in zip(bins, means, strict=True)],
        ),
    ]  # fmt: skip
    label = "Accuracy of the concept (%)"
    return Figure(backbone, "Similarity to the nearest seen concept", label, series, y_range=(-4, 104))


SECTION = PageSection("concepts", 150, build)
