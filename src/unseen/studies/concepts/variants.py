"""Random sets of concepts instead of levels, as in ImageNet-CoG."""

from unseen.ontology.levels import Levels, load_levels, random_levels

DRAWS = 15


def random_sets() -> Levels:
    """Random sets of the size of a level, drawn from all concepts of the published levels; as many as in the paper."""
    levels = load_levels("cog-v2")
    return random_levels(levels.concepts, DRAWS, len(levels.concepts) // len(levels), seed=0)
