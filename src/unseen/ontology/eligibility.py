"""Eligibility of concepts for the levels: the recipe's rules, applied in order, each with the concepts it removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.ontology.recipes import Recipe
from unseen.ontology.taxonomy import Taxonomy


@dataclass(frozen=True)
class Step:
    """One rule: its description (`rule`), why a removed concept is out (`reason`), the removed concepts, and how many
    remain.
    """

    rule: str
    reason: str
    removed: frozenset[str]
    left: int


@dataclass(frozen=True)
class Selection:
    """The eligible concepts, in order of id, and the steps that led to them."""

    universe: int
    steps: tuple[Step, ...]
    eligible: tuple[str, ...]


def select(
    recipe: Recipe, taxonomy: Taxonomy, universe: Sequence[str], seen: Sequence[str], counts: Mapping[str, int] | None
) -> Selection:
    """Apply a recipe's rules in the published order.

    Args:
        taxonomy: contains the universe, the seen concepts and all their ancestors.
        counts: images per concept of the universe; needed if the recipe has a minimum.
    """
    kept = np.zeros(len(taxonomy), dtype=bool)
    among = taxonomy.index(universe)
    kept[among] = True
    start, steps = int(kept.sum()), list[Step]()

    def drop(rule: str, reason: str, marked: NDArray[np.bool_]) -> None:
        removed = np.flatnonzero(kept & marked)
        kept[removed] = False
        ids = frozenset(taxonomy.ids[i] for i in removed)
        steps.append(Step(rule, reason, ids, int(kept.sum())))

    def marks(ids: Sequence[str]) -> NDArray[np.bool_]:
        marked = np.zeros(len(taxonomy), dtype=bool)
        marked[taxonomy.index([i for i in ids if i in taxonomy.position])] = True
        return marked

    seen_nodes = taxonomy.index(seen)
    drop("drop the seen concepts", "it is a seen concept", marks(seen))
    drop("drop ancestors of seen concepts", "it is an ancestor of a seen concept", taxonomy.above(seen_nodes))
    if recipe.min_images > 0:
        images = counts or {}
        few = [concept for concept in universe if images[concept] < recipe.min_images]
        rule = f"keep concepts with at least {recipe.min_images} images"
        drop(rule, f"it has fewer than {recipe.min_images} images", marks(few))
    for top in recipe.exclude_subtrees:
        if top in taxonomy.position:
            node = taxonomy.index([top])
            name = taxonomy.names[int(node[0])]
            drop(f"drop everything under {name}", f"it lies under {name} ({top})", taxonomy.below(node))
    if recipe.leaves == "universe":
        reason = "it is an ancestor of another concept of the universe"
        drop("keep leaves of the universe", reason, taxonomy.above(among))
    elif recipe.leaves == "eligible":
        reason = "it is an ancestor of another eligible concept"
        drop("keep leaves of what is left", reason, taxonomy.above(np.flatnonzero(kept).astype(np.int32)))
    if recipe.exclude:
        rule = f"drop {len(recipe.exclude)} listed concepts"
        drop(rule, "it is on the recipe's list of excluded concepts", marks(recipe.exclude))
    return Selection(start, tuple(steps), tuple(taxonomy.ids[i] for i in np.flatnonzero(kept)))
