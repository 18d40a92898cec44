"""`unseen.levels`, `unseen.build_levels` and `unseen.similarity`: concepts and how similar they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from unseen.errors import UserError, did_you_mean
from unseen.ontology.levels import COLUMNS, Built, Levels, load_levels
from unseen.ontology.levels import build_levels as build
from unseen.ontology.recipe_keys import RecipeKeys
from unseen.ontology.recipes import Recipe
from unseen.ontology.space import LcsRule
from unseen.reading.keys import find_key, keys_of, read_value
from unseen.text.notebook import table_html

if TYPE_CHECKING:
    import pandas as pd

    from unseen.report.core.model import Figure

RULES = ("leaves", "lcs", "ties", "spread")
"""Further settings of levels of one's own."""


@dataclass(frozen=True, repr=False)
class ConceptLevels(Levels):
    """Concept levels with a table, a plot and explanations.

    `levels[5]` is the tuple of concepts of level 5, `levels.ids(5)` their ids in the order of class labels, and
    `levels.write("levels.csv")` writes a file that commands accept.

    Attributes:
        built: how the levels were built, if they were built with `unseen.build_levels`.
    """

    built: Built | None = None

    def to_frame(self) -> "pd.DataFrame":
        """One row per concept: level, rank, wnid, name, similarity, nearest, images."""
        import pandas as pd

        return pd.DataFrame(
            [[getattr(concept, name) for name in COLUMNS] for concept in self.concepts], columns=COLUMNS
        )

    def plot(self, figure: Literal["ranking", "images"] = "ranking") -> "Figure":
        """Plot the ranking by similarity to the seen concepts with the levels marked, or the images per concept.

        Args:
            figure: "ranking" or "images".

        Returns:
            A figure, which a notebook displays and `.save("levels.svg")` writes to a file.
        """
        from unseen.report.levels.charts import images_chart, ranking_chart

        _check("figure", figure, ("ranking", "images"))
        if figure == "images":
            return images_chart(self)
        return ranking_chart(self, self.built.ranking if self.built else ())

    def explain(self, concept: str) -> str:
        """One sentence that says why a concept is in its level, in a gap between levels, or excluded.

        Args:
            concept: id or name of the concept, such as "n02110185" or "siberian_husky.n.01".
        """
        if self.built is None:
            raise UserError(
                f"{self.name} was read from a file, which has no ranking; only levels built with "
                "unseen.build_levels can be explained"
            )
        return self.built.explain(concept)

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        rows = frame.groupby("level").agg(
            concepts=("wnid", "size"), similarity=("similarity", "mean"), images=("images", "sum"),
            closest=("name", "first"), furthest=("name", "last"),
        )  # fmt: skip
        return table_html(f"Levels {self.name}", rows.reset_index())


def levels(name: str | PathLike[str]) -> ConceptLevels:
    """Load concept levels by name, or from a CSV file.

    Args:
        name: "cog-v2" (ImageNet-CoG), "cog-v1" (its first version), or a file written by `unseen levels build`.

    Returns:
        The levels, with `.to_frame()`, `.plot()` and `.write("levels.csv")`.

    Example:
        >>> unseen.levels("cog-v2")
        Levels(cog-v2: 5 levels, 5,000 concepts)
    """
    loaded = load_levels(name)
    return ConceptLevels(loaded.name, loaded.concepts)


def build_levels(
    seen: str | PathLike[str] | Sequence[str],
    *,
    levels: int = 5,
    size: int = 200,
    universe: str | PathLike[str] | Sequence[str] | None = None,
    taxonomy: str | PathLike[str] | None = None,
    measure: str = "lin",
    counts: Mapping[str, int] | None = None,
    min_images: int = 0,
    exclude_subtrees: str | Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    name: str = "own",
) -> ConceptLevels:
    """Rank unseen concepts by similarity to the seen ones, and cut the ranking into levels.

    Args:
        seen: the concepts that backbones were trained on: ids or names ("tabby.n.01"), "imagenet-1k", or a file of ids.
        levels: number of levels.
        size: number of concepts per level.
        universe: the concepts to choose from: ids or names, "imagenet-21k", "imagenet-1k", "taxonomy" for all, or a
            file of ids. By default ImageNet-21K, or everything in your own taxonomy.
        taxonomy: a CSV file with the columns child,parent, instead of WordNet 3.0.
        measure: a similarity measure listed by `unseen ls measures`, except cosine.
        counts: number of images per concept, by id or name; required by `min_images`.
        min_images: smallest number of images that a concept must have.
        exclude_subtrees: concepts to exclude together with all their descendants.
        settings: further rules by name. "leaves": keep concepts that are not an ancestor of another concept in the
            "universe" (the default), or of another "eligible" concept; "any" keeps all. "lcs": which lowest common
            ancestor to use if there are several, the one with the greatest "depth" or with the most "information".
            "ties": how ties are broken: "stable" keeps the order of ids, "numpy-1.24" is the order behind the published
            levels. "spread": how levels are placed on the ranking: "to-end" leaves equal gaps and ends with the last
            concept, "equal-gaps" leaves the remainder after the last level, "contiguous" leaves no gaps.
        name: name of the levels.

    Returns:
        The levels, with `.to_frame()`, `.plot()`, `.explain("siberian_husky.n.01")` and `.write("levels.csv")`.

    Example:
        >>> mine = unseen.build_levels(seen=["tabby.n.01", "malamute.n.01"], levels=3, size=50)
        >>> mine
        Levels(own: 3 levels, 150 concepts)
        >>> mine[1][0].name
        'siberian_husky.n.01'
    """
    from unseen.ontology.class_names import concept_of_word
    from unseen.ontology.concept_sets import concept_set, counts_by_id
    from unseen.ontology.edges import read_taxonomy
    from unseen.ontology.measures import get_measure
    from unseen.ontology.wordnet import wordnet

    given = settings or {}
    if get_measure(measure).uses == "vectors":
        raise UserError(
            f"{measure} compares word vectors; use unseen levels build --measure {measure} --set word-vectors=FILE"
        )
    known = {name: each for name, each in keys_of(RecipeKeys).items() if name in RULES}
    rules = {name: read_value(find_key(known, name, "settings"), value, "settings") for name, value in given.items()}
    if min_images > 0 and counts is None:
        raise UserError(f"min_images={min_images} needs the number of images per concept; give counts")
    full = wordnet().taxonomy if taxonomy is None else read_taxonomy(Path(taxonomy))
    where = "WordNet 3.0" if taxonomy is None else fspath(taxonomy)

    def ids(concepts: str | PathLike[str] | Sequence[str]) -> tuple[str, ...]:
        if isinstance(concepts, str | PathLike):
            return concept_set(fspath(concepts), full)
        given = tuple(dict.fromkeys(concept_of_word(key, full) for key in concepts))
        full.index(given, where)
        return given

    out = [exclude_subtrees] if isinstance(exclude_subtrees, str) else exclude_subtrees
    chosen, trained = universe or ("imagenet-21k" if taxonomy is None else "taxonomy"), ids(seen)
    recipe = Recipe(
        name, _set_name(chosen), _set_name(seen),
        min_images=min_images, exclude_subtrees=ids(out), measure=measure, levels=levels, size=size, **rules,
    )  # fmt: skip
    concepts = ids(chosen)
    images = None if counts is None else counts_by_id(counts, concepts, full)
    built = build(
        recipe, full.closure([*concepts, *trained], where), concepts, trained, counts=images, explained_in=full
    )
    return ConceptLevels(built.levels.name, built.levels.concepts, built)


def similarity(
    a: str,
    b: str,
    *,
    measure: str = "lin",
    lcs: LcsRule = "depth",
    over: Literal["imagenet", "wordnet"] = "imagenet",
) -> float:
    """Similarity of two WordNet concepts.

    Args:
        a, b: ids ("n02123159"), names ("tiger_cat.n.02") or words with one meaning.
        measure: a similarity measure listed by `unseen ls measures`, except cosine.
        lcs: which lowest common ancestor to use if there are several: the one with the greatest "depth" or with the
            most "information".
        over: taxonomy that information content is counted over; concepts outside ImageNet-21K need "wordnet".

    Returns:
        The similarity, in the range of the measure; for "lin" from 0 to 1.

    Example:
        >>> round(unseen.similarity("tiger_cat.n.02", "domestic_cat.n.01"), 4)
        0.8287
    """
    from unseen.ontology.class_names import concept_of_word
    from unseen.ontology.measures import get_measure
    from unseen.ontology.measures import similarity as of_pair
    from unseen.ontology.space import Space
    from unseen.ontology.wordnet import imagenet_taxonomy, wordnet

    _check("over", over, ("imagenet", "wordnet"))
    _check("lcs", lcs, get_args(LcsRule))
    if get_measure(measure).uses == "vectors":
        raise UserError(f"{measure} compares word vectors, which two concepts do not have; choose another measure")
    pair = [concept_of_word(a), concept_of_word(b)]
    taxonomy = wordnet().taxonomy if over == "wordnet" else imagenet_taxonomy()
    for wnid in pair:
        if wnid not in taxonomy.position:
            raise UserError(f"{wnid} is not an ImageNet-21K concept or an ancestor of one; use over='wordnet'")
    return of_pair(Space(taxonomy, lcs=lcs), pair[0], pair[1], measure)


def _set_name(concepts: str | PathLike[str] | Sequence[str]) -> str:
    return fspath(concepts) if isinstance(concepts, str | PathLike) else "given"


def _check(argument: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UserError(f"{argument} must be one of {', '.join(known)}, not '{value}'{did_you_mean(value, known)}")
