"""Variants of the concept study: class-balanced levels, and random sets of concepts in the place of levels.

Other variants need nothing of their own: levels by another measure are other levels, and ImageNet-1K with blurred faces
is another place of images.
"""

from unseen.errors import UserError, did_you_mean
from unseen.images.splits import COG, COG_BALANCED, SplitRule
from unseen.ontology.levels import Levels, load_levels, random_levels

PLAIN = "plain"
RULES: dict[str, SplitRule] = {PLAIN: COG, "class-balanced": COG_BALANCED}
"""Variants by how images are drawn."""
DRAWS = 15


def split_rule(variant: str) -> SplitRule:
    """How many images of a concept train and test in a variant."""
    if variant not in RULES:
        hint = did_you_mean(variant, RULES) or f"; there are {', '.join(RULES)}"
        raise UserError(f"no variant '{variant}'{hint}")
    return RULES[variant]


def random_sets() -> Levels:
    """As many random sets as the paper has, of the size of a level, out of all concepts of the published levels."""
    levels = load_levels("cog-v2")
    return random_levels(levels.concepts, DRAWS, len(levels.concepts) // len(levels), seed=0)
