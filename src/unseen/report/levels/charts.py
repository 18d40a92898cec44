"""The charts of concept levels: the ranking, images per concept, examples along a ranking."""

from collections.abc import Sequence

import numpy as np

from unseen.errors import UserError, option
from unseen.ontology.levels import Concept, Levels, spoken
from unseen.ontology.measures import get_measure
from unseen.ontology.space import Space
from unseen.report.core.looks import GREY, level_colour
from unseen.report.core.model import Band, Figure, Series
from unseen.report.core.ticks import log_ticks

MAX_IMAGES = 1350


def ranking_chart(levels: Levels, ranking: Sequence[Concept] = ()) -> Figure:
    """Similarity to the seen concepts by rank, with the levels marked (like Fig. 2 of Sariyildiz et al. 2021).

    `ranking` holds all eligible concepts; without it the curve has gaps between levels.
    """
    if any(concept.similarity is None for concept in levels.concepts):
        raise UserError(f"{levels.name} has no similarities to draw; build the levels instead of importing them")
    if len({concept.rank for concept in levels.concepts}) < len(levels.concepts):
        raise UserError(f"{levels.name} has concepts in several levels, so there is no single ranking to draw")
    bands, lines = list[Band](), list[Series]()
    if ranking:
        ranks, values = [c.rank for c in ranking], [c.similarity or 0.0 for c in ranking]
        lines.append(Series("", ranks, values, GREY, mode="lines", hover=[_describe(c) for c in ranking]))
    for number in levels.numbers:
        level = sorted(levels[number], key=lambda concept: concept.rank)
        colour = level_colour(number)
        ranks, values = [c.rank for c in level], [c.similarity or 0.0 for c in level]
        bands.append(Band(ranks[0], ranks[-1] + 1, f"L{number}", colour))
        lines.append(Series("", ranks, values, colour, mode="lines", hover=[_describe(c) for c in level]))
    last = max(concept.rank for concept in [*levels.concepts, *ranking])
    sizes = " or ".join(str(size) for size in sorted({len(levels[number]) for number in levels.numbers}))
    return Figure(
        title=f"Concept levels {levels.name}",
        caption=f"{len(levels)} levels of {sizes} unseen concepts; {_mean_similarities(levels)}.",
        x_label="rank of the unseen concept",
        y_label="similarity to the nearest seen concept",
        series=tuple(lines),
        bands=tuple(bands),
        x_range=(-0.005 * last, 1.005 * last),
    )


def _mean_similarities(levels: Levels) -> str:
    """The mean similarity to the seen concepts, from the first level to the last."""
    means = [float(np.mean([concept.similarity or 0.0 for concept in levels[number]])) for number in levels.numbers]
    if len(means) == 1:
        return f"the mean similarity to the nearest seen concept is {means[0]:.2f}"
    falls = "falls" if means[-1] < means[0] else "goes"
    ends = f"from {means[0]:.2f} in L1 to {means[-1]:.2f} in L{len(means)}"
    return f"the mean similarity to the nearest seen concept {falls} {ends}"


def _describe(concept: Concept) -> str:
    where = f"L{concept.level}" if concept.level else "in no level"
    nearest = f", nearest seen {concept.nearest}" if concept.nearest else ""
    return (
        f"{concept.name} ({concept.wnid}), {where}, rank {concept.rank}, similarity {concept.similarity:.3f}{nearest}"
    )


def images_chart(levels: Levels, cap: int = MAX_IMAGES) -> Figure:
    """Images per concept in each level, most first, capped (like Fig. 9)."""
    lines, totals = list[Series](), list[str]()
    for number in levels.numbers:
        known = [concept for concept in levels[number] if concept.images is not None]
        if not known:
            raise UserError(
                f"{levels.name} has no image counts to draw; build it with numbers of images ({option('counts')})"
            )
        known.sort(key=lambda concept: -(concept.images or 0))
        counts = [min(concept.images or 0, cap) for concept in known]
        hover = [f"{c.name} ({c.wnid}), L{number}: {c.images} images" for c in known]
        places = [float(place) for place in range(1, len(counts) + 1)]
        lines.append(Series(f"L{number}", places, counts, level_colour(number), strong=True, mode="lines", hover=hover))
        totals.append(_short(sum(counts)))
    return Figure(
        title=f"Images per concept in {levels.name}",
        caption=f"At most {cap} images of each concept are used, in total {', '.join(totals)} in L1 to L{len(levels)}.",
        x_label="concepts of a level, most images first",
        y_label="images",
        series=tuple(lines),
        y_range=(0.9 * min(min(y or 0 for y in line.y) for line in lines), 1.03 * cap),
    )


def _short(count: int) -> str:
    return f"{count / 1e6:.2f} M" if count >= 1e6 else f"{count:,}"


def examples_chart(space: Space, concept: str, among: Sequence[str], measure: str, examples: int = 7) -> Figure:
    """Concepts ranked by similarity to one concept, with examples at even steps of similarity (like Fig. 1a)."""
    taxonomy = space.taxonomy
    others = sorted(set(among) - {concept})
    if not others:
        raise UserError(f"no other concepts to compare {concept} with")
    chosen, rows = taxonomy.index([concept]), taxonomy.index(others)
    values = get_measure(measure).matrix(space, chosen, rows)[0]
    order = np.argsort(-values, kind="stable")
    values, rows = values[order], rows[order]
    targets = np.linspace(values[0], values[-1], min(examples, len(rows)))
    places = sorted({int(np.abs(values - target).argmin()) for target in targets})
    name = taxonomy.names[int(chosen[0])]
    hover = [
        f"{taxonomy.names[node]} ({taxonomy.ids[node]}): {value:.3f}" for node, value in zip(rows, values, strict=True)
    ]
    line = Series("", list(range(1, len(rows) + 1)), values.tolist(), GREY, mode="lines", hover=hover)
    marks = Series(
        "", [place + 1 for place in places], [float(values[place]) for place in places], level_colour(2),
        mode="markers",
        labels=[spoken(taxonomy.names[rows[place]]) for place in places], hover=[hover[place] for place in places],
    )  # fmt: skip
    return Figure(
        title=f"Concepts by similarity to {name}",
        caption=f"{len(rows):,} concepts, {get_measure(measure).title} similarity; examples at even steps.",
        x_label="rank (logarithmic)",
        y_label=f"{get_measure(measure).title} similarity",
        series=(line, marks),
        log_x=True,
        x_ticks=log_ticks([1, len(rows)]),
    )
