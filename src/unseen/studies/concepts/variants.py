"""Variants of the concept study: class-balanced levels, and random sets of concepts instead of levels.

Other variants need no code: levels by another measure are other levels, and ImageNet-1K with blurred faces is another
source of images.
"""

from unseen.errors import UserError, did_you_mean
from unseen.images.splits import COG, COG_BALANCED, SplitRule
from unseen.ontology.levels import Levels, load_levels, random_levels

PLAIN = "plain"
RULES: dict[str, SplitRule] = {PLAIN: COG, "class-balanced": COG_BALANCED}
"""Variants by how images are drawn."""
DRAWS = 15


def split_rule(variant: str) -> SplitRule:
    """The numbers of training and test images per concept in a variant."""
    if variant not in RULES:
        hint = did_you_mean(variant, RULES) or f"; choose from {', '.join(RULES)}"
        raise UserError(f"no variant '{variant}'{hint}")
    return RULES[variant]


def random_sets() -> Levels:
    """Random sets of the size of a level, drawn from all concepts of the published levels; as many as in the paper."""
    levels = load_levels("cog-v2")
    return random_levels(levels.concepts, DRAWS, len(levels.concepts) // len(levels), seed=0)
