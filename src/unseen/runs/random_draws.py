"""Random sets of concepts instead of levels: the domains `random1`, `random2` …, reported as one."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from unseen.runs.score import Score

RANDOM = "random"
DRAW = re.compile(rf"{RANDOM}(?P<number>[0-9]+)")
SEEDS_A_DRAW = 1000


def reported_as(dataset: str) -> str:
    """The domain under which a data set of a job is reported."""
    return RANDOM if DRAW.fullmatch(dataset) else dataset


def pooled_draws(scores: Iterable[Score]) -> Iterator[Score]:
    """Scores in which the random sets are repetitions of one domain, `random`, whose mean is reported.

    A repetition is a combination of draw and seed, so deviations are over both; its number is 1000 · draw + seed.
    """
    for score in scores:
        draw = DRAW.fullmatch(score.domain)
        if draw is None:
            yield score
        else:
            yield replace(score, domain=RANDOM, seed=SEEDS_A_DRAW * int(draw["number"]) + score.seed)
