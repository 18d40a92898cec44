"""The backbones on the page of a large run of tasks: as many as a browser can draw, in at most 10 MB."""

from dataclasses import replace
from math import inf
from statistics import fmean

from unseen.studies.tasks.page_data import TaskPage

MOST_SCORES = 4000
"""Scores of the shown backbones; each takes about 1 KB with its figures."""
FEWEST_BACKBONES = 50


def shown_part(page: TaskPage) -> TaskPage:
    """The backbones with the best mean rank over settings, and a notice if some are left out.

    Ranks and correlations are computed over all backbones.
    """
    many, own = len(page.backbones), sum(not score.published for score in page.scores)
    most = max(FEWEST_BACKBONES, MOST_SCORES * many // max(own, 1))
    if many <= most:
        return page
    ranks = {name: [of[name] for of in page.ranks.values() if name in of] for name in page.backbones}
    names = {*sorted(ranks, key=lambda name: fmean(ranks[name]) if ranks[name] else inf)[:most]}
    sentence = (
        f"This page shows {most:,} of {many:,} backbones: those with the best mean rank. Ranks and correlations use "
        "all backbones; unseen report --table writes every score."
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
