"""Which backbones the page of a large run of tasks shows: as many as a browser can draw and 10 MB can hold."""

from dataclasses import replace
from math import inf
from statistics import fmean

from unseen.studies.tasks.page_data import TaskPage

MOST_SCORES = 4000
"""Of the backbones that are shown, about 1 KB each with their figures."""
FEWEST_BACKBONES = 50


def shown_part(page: TaskPage) -> TaskPage:
    """The backbones of best mean rank over settings, and a notice where that is not all of them.

    Ranks and correlations stay those among all.
    """
    many, own = len(page.backbones), sum(not score.published for score in page.scores)
    most = max(FEWEST_BACKBONES, MOST_SCORES * many // max(own, 1))
    if many <= most:
        return page
    ranks = {name: [of[name] for of in page.ranks.values() if name in of] for name in page.backbones}
    names = {*sorted(ranks, key=lambda name: fmean(ranks[name]) if ranks[name] else inf)[:most]}
    sentence = (
        f"This page shows {most:,} of {many:,} backbones: those of best mean rank. Ranks and correlations are among "
        "all; unseen report --table writes every score."
    )
    return replace(
        page,
        backbones=[name for name in page.backbones if name in names],
        scores=[score for score in page.scores if score.published or score.backbone in names],
        fits=[fit for fit in page.fits if fit.backbone in names],
        tuned=[each for each in page.tuned if each.backbone in names],
        against_imagenet=[
            replace(each, points=[point for point in each.points if point.published or point.backbone in names])
            for each in page.against_imagenet
        ],
        notices=[*page.notices, sentence],
        timings={name: of for name, of in page.timings.items() if name in names},
    )
