"""The drawings for backbones trained on ImageNet-1K: a seen domain and five levels, counted from its 1,000 concepts.

The recipes of ImageNet-CoG drop what lies above a seen concept. Here what lies below one goes too: a backbone that was
taught balloons will have been shown hot-air balloons under that name, so they are no unseen concept to it.
"""

from functools import lru_cache

from unseen.images.drawings import concepts, drawn_order
from unseen.ontology.levels import Built, build_levels
from unseen.ontology.recipes import Recipe
from unseen.ontology.wordnet import wordnet

CLASSES = 30
RECIPE = Recipe(name="drawings", universe="drawings", seen="imagenet-1k", levels=5, size=CLASSES)
"""As in the demo, but for the seen concepts and the size: the 154 concepts that are left fill five levels of 30."""


@lru_cache(maxsize=1)
def under_seen() -> tuple[str, ...]:
    """The drawn concepts that lie under one of ImageNet-1K and are not one themselves."""
    taxonomy, seen = wordnet().taxonomy, wordnet().members("imagenet-1k")
    below = taxonomy.below(taxonomy.index(seen))
    return tuple(wnid for wnid in concepts() if below[taxonomy.position[wnid]] and wnid not in set(seen))


@lru_cache(maxsize=1)
def imagenet_levels() -> Built:
    """Five levels of drawn concepts that are neither in ImageNet-1K nor above or below what is."""
    universe = [wnid for wnid in concepts() if wnid not in under_seen()]
    return build_levels(RECIPE, wordnet().taxonomy, universe, wordnet().members("imagenet-1k"))


@lru_cache(maxsize=1)
def seen_concepts() -> tuple[str, ...]:
    """The drawn concepts that are in ImageNet-1K, in the fixed arbitrary order that some of them are drawn in."""
    known = set(wordnet().members("imagenet-1k"))
    return tuple(wnid for wnid in drawn_order() if wnid in known)


def imagenet_domains() -> dict[str, tuple[str, ...]]:
    """Domain → its 30 concepts in order of id: `seen`, a fixed draw from those in ImageNet-1K, then `l1` … `l5`."""
    levels = imagenet_levels().levels
    seen = tuple(sorted(seen_concepts()[:CLASSES]))
    return {"seen": seen} | {f"l{number}": levels.ids(number) for number in levels.numbers}
