"""From the options of `unseen levels build` and `rerank` to levels."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from unseen.cli.output import note, track
from unseen.data.core.listing import list_images
from unseen.errors import UserError
from unseen.ontology.class_names import concept_of_word
from unseen.ontology.concept_sets import concept_set, read_counts
from unseen.ontology.edges import read_taxonomy
from unseen.ontology.information import Floats, information_from_file
from unseen.ontology.levels import Built, build_levels
from unseen.ontology.measures import get_measure
from unseen.ontology.recipe_keys import FILES, RecipeKeys
from unseen.ontology.recipes import Recipe, get_recipe
from unseen.ontology.reranking import text_vectors
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import wordnet


@dataclass(frozen=True)
class Inputs:
    """The files that levels are built from; None if not needed or included in the package."""

    taxonomy: Path | None = None
    counts: Path | None = None
    images: Path | None = None
    word_vectors: Path | None = None
    frequencies: Path | None = None


def changed_recipe(name: str | None, keys: RecipeKeys, **given: Any) -> Recipe:
    """The named recipe with what is given changed; without a name, a plain one that needs at least `seen`."""
    given |= {each.name: getattr(keys, each.name) for each in fields(keys) if each.name not in FILES}
    changes = {field: value for field, value in given.items() if value not in (None, ())}
    get_measure(changes.get("measure", "lin"))
    own_taxonomy = keys.taxonomy is not None
    if name is not None:
        recipe = get_recipe(name)
        if own_taxonomy:
            raise UserError(f"recipe {name} is for ImageNet and WordNet; leave out --recipe or the taxonomy")
        if "exclude_subtrees" in changes:
            changes["exclude_subtrees"] = (*recipe.exclude_subtrees, *changes["exclude_subtrees"])
        changed = replace(recipe, **changes)
        return changed if changed == recipe else replace(changed, name=f"{name}-changed")
    if "seen" not in changes:
        raise UserError("give --recipe cog-v2 for published levels, or --seen FILE for your own seen concepts")
    return replace(Recipe("own", universe="taxonomy" if own_taxonomy else "imagenet-21k", seen=""), **changes)


def build_from_inputs(recipe: Recipe, inputs: Inputs, explain: Sequence[str]) -> tuple[Built, list[str]]:
    """Build levels, and a sentence for each concept to be explained."""
    full = read_taxonomy(inputs.taxonomy) if inputs.taxonomy else wordnet().taxonomy
    where = str(inputs.taxonomy) if inputs.taxonomy else "WordNet 3.0"
    universe, seen = concept_set(recipe.universe, full), concept_set(recipe.seen, full)
    recipe = replace(recipe, exclude_subtrees=tuple(concept_of_word(key, full) for key in recipe.exclude_subtrees))
    taxonomy = full.closure([*universe, *seen], where)
    wanted = [concept_of_word(key, full) for key in explain]
    built = build_levels(
        recipe,
        taxonomy,
        universe,
        seen,
        counts=_counts(recipe, inputs, universe, taxonomy, full),
        vectors=text_vectors(
            recipe.measure,
            inputs.word_vectors,
            taxonomy,
            [*universe, *seen],
            is_wordnet=inputs.taxonomy is None,
            key="word-vectors",
            tell=note,
        ),
        information=_information(inputs.frequencies, full, taxonomy, universe),
        explained_in=full,
    )
    return built, [built.explain(wnid) for wnid in wanted]


def _information(path: Path | None, full: Taxonomy, taxonomy: Taxonomy, universe: Sequence[str]) -> Floats | None:
    """Information content of the taxonomy's nodes from a file of frequencies, if there is one."""
    if path is None:
        return None
    content = information_from_file(full, path)
    uncounted = int((~np.isfinite(content[full.index(universe)])).sum())
    if uncounted:
        note(f"{path}: has no counts for {uncounted} of {len(universe)} concepts; their similarity to all others is 0")
    return content[full.index(taxonomy.ids)]


def _counts(
    recipe: Recipe, inputs: Inputs, universe: Sequence[str], taxonomy: Taxonomy, full: Taxonomy
) -> dict[str, int] | None:
    if inputs.counts and inputs.images:
        raise UserError("give --counts or --images, not both")
    if inputs.counts:
        inner = taxonomy.above(taxonomy.index(universe))
        needed = [concept for concept in universe if inputs.taxonomy is None or not inner[taxonomy.position[concept]]]
        return dict.fromkeys(universe, 0) | read_counts(inputs.counts, needed, full)
    if inputs.images:
        found = {name: len(images) for name, images in track(list_images(inputs.images), "classes counted")}
        absent = [concept for concept in universe if concept not in found]
        if len(absent) == len(universe):
            raise UserError(f"{inputs.images}: has no folder or tar file for any concept of {recipe.universe}")
        if absent:
            note(
                f"{inputs.images}: {len(absent):,} of {len(universe):,} concepts have no folder or tar file there; "
                "they count as 0 images"
            )
        return {concept: found.get(concept, 0) for concept in universe}
    if recipe.min_images > 0:
        raise UserError(
            f"recipe {recipe.name} needs at least {recipe.min_images} images per concept: "
            "give --counts FILE, --images FOLDER, or --set min-images=0"
        )
    return None
