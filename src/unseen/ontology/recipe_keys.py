"""Settings of a recipe for levels that are seldom needed, in `unseen levels build` and `unseen.build_levels`."""

from dataclasses import dataclass
from typing import Literal

from unseen.reading.keys import key

FILES = ("taxonomy", "word_vectors", "frequencies")
"""Those that are files, and no part of the recipe."""


@dataclass(frozen=True)
class RecipeKeys:
    """How levels are built; unset: as the recipe says, or as usual."""

    min_images: int | None = key(None, "minimum number of images per concept", least=0)
    universe: str | None = key(None, "concepts to choose from: imagenet-21k, taxonomy, or a file with one id per line")
    exclude_subtrees: tuple[str, ...] = key((), "concepts to exclude with all their descendants")
    leaves: Literal["universe", "eligible", "any"] | None = key(
        None, "concepts to keep: leaves of the universe, leaves among the eligible concepts, or any"
    )
    lcs: Literal["depth", "information"] | None = key(
        None, "rule for the lowest common ancestor: greatest depth or greatest information content"
    )
    taxonomy: str | None = key(None, "taxonomy to use instead of WordNet: a CSV with child,parent")
    word_vectors: str | None = key(None, "file of word vectors, for the measure cosine")
    frequencies: str | None = key(None, "file of word counts for information content")
    ties: Literal["stable", "numpy-1.24"] | None = key(
        None, "order of equal similarities: as given, or as numpy.argsort of NumPy 1.24 leaves them"
    )
    spread: Literal["to-end", "equal-gaps", "contiguous"] | None = key(
        None, "gaps between levels: equal with the last level at the end of the ranking, equal, or none"
    )
