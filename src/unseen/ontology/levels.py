"""Concept levels: their table, and the function that builds it from a recipe."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean, option
from unseen.files import read_table, write_table
from unseen.ontology.class_names import concept_of_word
from unseen.ontology.eligibility import Selection, select
from unseen.ontology.information import Floats
from unseen.ontology.measures import get_measure
from unseen.ontology.ranking import decreasing_order, level_starts
from unseen.ontology.recipes import Recipe
from unseen.ontology.space import Space
from unseen.ontology.taxonomy import Ints, Taxonomy
from unseen.ontology.wordnet import DATA

COLUMNS = ("level", "rank", "wnid", "name", "similarity", "nearest", "images")


def spoken(name: str) -> str:
    """A WordNet name in readable form; other names are unchanged."""
    return name.split(".n.", maxsplit=1)[0].replace("_", " ") if ".n." in name else name


@dataclass(frozen=True)
class Concept:
    """A ranked concept.

    Attributes:
        level: from 1, the closest to the seen concepts; 0 for a concept in a gap between levels.
        rank: position in the ranking of all eligible concepts, from 0.
        similarity: to the nearest seen concept, whose id is `nearest`; None for levels without similarities.
        images: number of its images, None if unknown.
    """

    level: int
    rank: int
    wnid: str
    name: str
    similarity: float | None
    nearest: str
    images: int | None

    @property
    def word(self) -> str:
        """The name in readable form: `tiger_cat.n.02` is a tiger cat."""
        return spoken(self.name)

    @property
    def cells(self) -> tuple[object, ...]:
        """Its row in a CSV file, in the order of `COLUMNS`."""
        similarity = "" if self.similarity is None else f"{self.similarity:.9f}"
        images = "" if self.images is None else self.images
        return (self.level, self.rank, self.wnid, self.name, similarity, self.nearest, images)


@dataclass(frozen=True)
class Levels:
    """Concepts divided into levels, in order of rank."""

    name: str
    concepts: tuple[Concept, ...]

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the levels, ascending."""
        return tuple(sorted({concept.level for concept in self.concepts}))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[Concept, ...]]:
        """The concepts of each level, starting with the closest."""
        return (self[number] for number in self.numbers)

    def __getitem__(self, level: int) -> tuple[Concept, ...]:
        """The concepts of a level, counted from 1."""
        concepts = tuple(concept for concept in self.concepts if concept.level == level)
        if not concepts:
            raise UserError(f"{self.name} has no level {level}; it has {', '.join(map(str, self.numbers))}")
        return concepts

    def __repr__(self) -> str:
        return f"Levels({self.name}: {len(self)} levels, {len(self.concepts):,} concepts)"

    def ids(self, level: int) -> tuple[str, ...]:
        """The concept ids of a level in sorted order: the order of class labels."""
        return tuple(sorted(concept.wnid for concept in self[level]))

    def write(self, path: str | PathLike[str]) -> None:
        """Write a CSV file with the columns level,rank,wnid,name,similarity,nearest,images."""
        write_table(Path(path), COLUMNS, (concept.cells for concept in self.concepts))

    @classmethod
    def read(cls, path: str | PathLike[str], name: str | None = None) -> Self:
        """Read such a CSV file; a concept that occurs twice in a level, or a cell of the wrong type, is an error."""
        path = Path(path)
        concepts: dict[tuple[int, str], Concept] = {}
        for line, row in read_table(path, COLUMNS[:4], COLUMNS[4:]):
            try:
                concept = Concept(
                    level=int(row["level"]),
                    rank=int(row["rank"]),
                    wnid=row["wnid"],
                    name=row["name"],
                    similarity=float(row["similarity"]) if row["similarity"] else None,
                    nearest=row["nearest"],
                    images=int(row["images"]) if row["images"] else None,
                )
            except ValueError as error:
                raise UserError(f"{path}, line {line}: {error}") from None
            if concept.similarity is not None and not math.isfinite(concept.similarity):
                raise UserError(f"{path}, line {line}: a similarity must be finite, found {row['similarity']}")
            if concept.images is not None and concept.images < 0:
                raise UserError(f"{path}, line {line}: {concept.wnid} has a negative number of images")
            if concept.level < 1:
                raise UserError(f"{path}, line {line}: levels count from 1, found {concept.level}")
            # Random draws overlap, so a concept may be in several levels, but only once in each.
            if (concept.level, concept.wnid) in concepts:
                raise UserError(f"{path}, line {line}: {concept.wnid} is twice in level {concept.level}")
            concepts[concept.level, concept.wnid] = concept
        if not concepts:
            raise UserError(f"{path}: contains no concepts")
        return cls(name or path.stem, tuple(concepts.values()))


SHIPPED = ("cog-v2", "cog-v1")
PAIRS_AT_ONCE = 10_000_000


def load_levels(name: str | PathLike[str]) -> Levels:
    """Levels that ship with the package (`cog-v2`, `cog-v1`), or those in a CSV file."""
    if fspath(name) in SHIPPED:
        return _shipped(fspath(name))
    path = Path(name)
    if not path.suffix and not path.exists():
        hint = did_you_mean(str(path), SHIPPED) or f"; there are {', '.join(SHIPPED)}, or give a CSV file"
        raise UserError(f"no levels '{path}'{hint}")
    return Levels.read(path)


@cache
def _shipped(name: str) -> Levels:
    return Levels.read(DATA / f"{name}.csv", name)


@dataclass(frozen=True)
class Built:
    """The result of building: the levels, and everything needed to explain them.

    Attributes:
        taxonomy: the taxonomy in which concepts to explain are looked up.
    """

    recipe: Recipe
    selection: Selection
    ranking: tuple[Concept, ...]
    levels: Levels
    taxonomy: Taxonomy

    def explain(self, concept: str) -> str:
        """One sentence on why a concept, given by id or name, is in its level, in a gap, or out."""
        wnid = concept_of_word(concept, self.taxonomy)
        for step in self.selection.steps:
            if wnid in step.removed:
                return f"{wnid} is out: {step.reason}."
        for ranked in self.ranking:
            if ranked.wnid == wnid:
                where = f"is in level {ranked.level}" if ranked.level else "falls in a gap between levels"
                return (
                    f"{wnid} ({ranked.name}) {where}: rank {ranked.rank} of {len(self.ranking)}, "
                    f"similarity {ranked.similarity:.6f} to {ranked.nearest}."
                )
        return f"{wnid} is out: it is not in the universe ({self.recipe.universe})."


def build_levels(
    recipe: Recipe,
    taxonomy: Taxonomy,
    universe: Sequence[str],
    seen: Sequence[str],
    *,
    counts: Mapping[str, int] | None = None,
    vectors: Floats | None = None,
    information: Floats | None = None,
    explained_in: Taxonomy | None = None,
) -> Built:
    """Build levels from a recipe.

    Args:
        taxonomy: any taxonomy that contains the universe and the seen concepts; it is reduced as the recipe specifies.
        universe, seen: the ids that the recipe's names stand for.
        counts: images per concept, for the recipe's minimum and the table's last column.
        vectors, information: (len(taxonomy), d) and (len(taxonomy),), if the measure or its IC come from outside.
        explained_in: a larger taxonomy in which concepts to explain are looked up; by default `taxonomy`.
    """
    if not seen:
        raise UserError("no seen concepts: similarity to the seen set needs at least one")
    around = taxonomy.closure([*universe, *seen])
    selection = select(recipe, around, universe, seen, counts)
    try:
        starts = level_starts(len(selection.eligible), recipe.levels, recipe.size, recipe.spread)
    except UserError as error:
        left = "; ".join(f"{step.rule}: {step.left}" for step in selection.steps)
        raise UserError(f"{error} (of {selection.universe} concepts; {left})") from None
    if recipe.counted_over == "eligible":
        around = around.closure([*selection.eligible, *seen])
    nodes = taxonomy.index(around.ids)
    space = Space(
        around,
        None if information is None else information[nodes],
        recipe.lcs,
        None if vectors is None else vectors[nodes],
    )
    ranking = rank_concepts(space, recipe, selection.eligible, sorted(set(seen)), starts, counts)
    levels = Levels(recipe.name, tuple(concept for concept in ranking if concept.level))
    return Built(recipe, selection, ranking, levels, explained_in or taxonomy)


def nearest_seen(space: Space, measure: str, rows: Ints, columns: Ints) -> tuple[NDArray[np.int64], Floats]:
    """For each row, the index of the most similar column (the first among equals) and its similarity.

    Computed in blocks of rows, so that memory does not grow with their number.
    """
    matrix = get_measure(measure).matrix
    best, similarity = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    block = max(1, PAIRS_AT_ONCE // len(columns))
    for start in range(0, len(rows), block):
        part = slice(start, start + block)
        values = matrix(space, rows[part], columns)
        best[part] = values.argmax(axis=1)
        similarity[part] = values.max(axis=1)
    return best, similarity


def rank_concepts(
    space: Space,
    recipe: Recipe,
    concepts: Sequence[str],
    seen: Sequence[str],
    starts: Iterable[int],
    counts: Mapping[str, int] | None,
) -> tuple[Concept, ...]:
    """Concepts by decreasing similarity to the seen set, sim(c) = max over seen s of sim(c, s), with their levels."""
    taxonomy = space.taxonomy
    rows, columns = taxonomy.index(concepts), taxonomy.index(seen)
    best, similarity = nearest_seen(space, recipe.measure, rows, columns)
    level = np.zeros(len(rows), dtype=int)
    for number, start in enumerate(starts, start=1):
        level[start : start + recipe.size] = number
    return tuple(
        Concept(
            level=int(level[rank]),
            rank=rank,
            wnid=concepts[i],
            name=taxonomy.names[rows[i]],
            similarity=float(similarity[i]),
            nearest=seen[best[i]],
            images=None if counts is None else counts.get(concepts[i]),
        )
        for rank, i in enumerate(decreasing_order(similarity, recipe.ties).tolist())
    )


def rerank_levels(levels: Levels, recipe: Recipe, space: Space, seen: Sequence[str]) -> Levels:
    """The same concepts ranked by another measure and divided into as many levels without gaps.

    This is how the paper compares word vectors with Lin (appendix D): no concept is added or removed.
    """
    twice = len(levels.concepts) - len({concept.wnid for concept in levels.concepts})
    if twice:
        raise UserError(f"{levels.name}: {twice} concepts are in several levels; random draws cannot be ranked again")
    both = sorted({concept.wnid for concept in levels.concepts} & set(seen))
    if both:
        raise UserError(
            f"{levels.name}: {both[0]} is itself a seen concept; specify the seen concepts ({option('seen')})"
        )
    size = len(levels.concepts) // len(levels)
    starts = level_starts(len(levels.concepts), len(levels), size, "contiguous")
    ids = sorted(concept.wnid for concept in levels.concepts)
    counts = {concept.wnid: concept.images for concept in levels.concepts if concept.images is not None}
    ranked = rank_concepts(space, recipe, ids, sorted(set(seen)), starts, counts)
    return Levels(f"{levels.name}-{recipe.measure}", ranked)


def random_levels(eligible: Sequence[Concept], draws: int, size: int, seed: int) -> Levels:
    """`draws` random sets of `size` eligible concepts, drawn independently, as levels 1 to `draws`.

    Concepts keep their rank.
    """
    if seed < 0:
        raise UserError(f"the seed must be at least 0, not {seed}")
    if draws < 1 or size < 1:
        raise UserError(f"draws and size must be at least 1, got {draws} of {size}")
    if size > len(eligible):
        raise UserError(f"{len(eligible)} eligible concepts are too few to draw {size}")
    ordered = sorted(eligible, key=lambda concept: concept.wnid)
    rng = np.random.default_rng(seed)
    drawn = (sorted(rng.choice(len(ordered), size=size, replace=False).tolist()) for _ in range(draws))
    concepts = tuple(
        replace(concept, level=draw)
        for draw, chosen in enumerate(drawn, start=1)
        for concept in sorted((ordered[i] for i in chosen), key=lambda concept: concept.rank)
    )
    return Levels(f"random-{seed}", concepts)
