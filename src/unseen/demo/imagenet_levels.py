"""Domains of drawings for backbones trained on ImageNet-1K: a seen domain and five levels, relative to its 1,000
concepts.

The recipes of ImageNet-CoG drop ancestors of seen concepts. Here descendants are dropped too: a backbone trained on
balloons has probably seen hot-air balloons under that name, so they are not unseen.
"""

from functools import lru_cache

from unseen.images.drawings import concepts, drawn_order
from unseen.ontology.levels import Built, build_levels
from unseen.ontology.recipes import Recipe
from unseen.ontology.wordnet import wordnet

CLASSES = 30
RECIPE = Recipe(name="drawings", universe="drawings", seen="imagenet-1k", levels=5, size=CLASSES)
"""As in the demo, except for the seen concepts and the size: the remaining 154 concepts fill five levels of 30."""


@lru_cache(maxsize=1)
def under_seen() -> tuple[str, ...]:
    """The drawn concepts that are descendants of an ImageNet-1K concept and not in ImageNet-1K themselves."""
    taxonomy, seen = wordnet().taxonomy, wordnet().members("imagenet-1k")
    below = taxonomy.below(taxonomy.index(seen))
    return tuple(wnid for wnid in concepts() if below[taxonomy.position[wnid]] and wnid not in set(seen))


@lru_cache(maxsize=1)
def imagenet_levels() -> Built:
    """Five levels of drawn concepts that are neither in ImageNet-1K nor ancestors or descendants of its concepts."""
    universe = [wnid for wnid in concepts() if wnid not in under_seen()]
    return build_levels(RECIPE, wordnet().taxonomy, universe, wordnet().members("imagenet-1k"))


@lru_cache(maxsize=1)
def seen_concepts() -> tuple[str, ...]:
    """The drawn concepts in ImageNet-1K, in the fixed arbitrary order used for drawing some of them."""
    known = set(wordnet().members("imagenet-1k"))
    return tuple(wnid for wnid in drawn_order() if wnid in known)


def imagenet_domains() -> dict[str, tuple[str, ...]]:
    """Domain → its 30 concepts sorted by id: `seen`, a fixed draw from those in ImageNet-1K, then `l1` … `l5`."""
    levels = imagenet_levels().levels
    seen = tuple(sorted(seen_concepts()[:CLASSES]))
    return {"seen": seen} | {f"l{number}": levels.ids(number) for number in levels.numbers}
