"""Variants of the concept study: class-balanced levels, and random sets of concepts in the place of levels.

Other variants need nothing of their own: levels by another measure are other levels, and ImageNet-1K with blurred faces
is another place of images.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from unseen.errors import UserError, did_you_mean
from unseen.images.splits import COG, COG_BALANCED, SplitRule
from unseen.ontology.levels import Levels, load_levels, random_levels
from unseen.results.score import Score

PLAIN = "plain"
RULES: dict[str, SplitRule] = {PLAIN: COG, "class-balanced": COG_BALANCED}
"""Variants by how images are drawn."""
RANDOM = "random"
DRAWS = 15
DRAW = re.compile(rf"{RANDOM}(?P<number>[0-9]+)")
SEEDS_A_DRAW = 1000


def split_rule(variant: str) -> SplitRule:
    """How many images of a concept train and test in a variant."""
    if variant not in RULES:
        hint = did_you_mean(variant, RULES) or f"; there are {', '.join(RULES)}"
        raise UserError(f"no variant '{variant}'{hint}")
    return RULES[variant]


def random_sets(base: str = "cog-v2") -> Levels:
    """As many random sets as the paper has, of the size of a level, out of all concepts of the published levels."""
    levels = load_levels(base)
    return random_levels(levels.concepts, DRAWS, len(levels.concepts) // len(levels), seed=0)


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
