"""Random sets of concepts in the place of levels: domains `random1`, `random2` …, reported as one."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from unseen.runs.score import Score

RANDOM = "random"
DRAW = re.compile(rf"{RANDOM}(?P<number>[0-9]+)")
SEEDS_A_DRAW = 1000


def pooled_draws(scores: Iterable[Score]) -> Iterator[Score]:
    """Scores with those on random sets as repetitions of one domain, `random`: what is reported is their mean.

    A repetition is a draw and a seed, so deviations are over both; its number is 1000 · draw + seed.
    """
    for score in scores:
        draw = DRAW.fullmatch(score.domain)
        if draw is None:
            yield score
        else:
            yield replace(score, domain=RANDOM, seed=SEEDS_A_DRAW * int(draw["number"]) + score.seed)
