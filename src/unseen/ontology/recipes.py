"""A recipe for levels: which concepts are eligible, how they are ranked, and where the ranking is cut."""

from dataclasses import dataclass
from typing import Literal

from unseen.errors import UserError, did_you_mean
from unseen.ontology.ranking import Spread, TieRule
from unseen.ontology.space import LcsRule
from unseen.ontology.wordnet import PERSON

Leaves = Literal["universe", "eligible", "any"]


@dataclass(frozen=True)
class Recipe:
    """Everything that determines which concept is in which level.

    Attributes:
        universe: the concepts to choose from: `imagenet-21k`, `imagenet-1k`, `taxonomy` (all of it), or a file of ids.
        seen: the concepts a backbone was trained on: one of those names or a file of ids.
        min_images: minimum number of images per concept.
        exclude_subtrees: ids that are removed together with everything below them.
        exclude: ids that are removed individually, after all other rules.
        leaves: a concept is removed if it is an ancestor of another `universe` concept, of another concept `eligible`
            at that point, or never (`any`).
        counted_over: the concepts over which, with the seen ones and all their ancestors, information content is
            computed: the `universe`, or those finally `eligible`.
        measure, lcs: the similarity, and its rule for the lowest common ancestor (see `unseen.ontology.space`).
        ties: how equal similarities are ordered (see `unseen.ontology.ranking`).
        levels, size, spread: number of levels, concepts per level, and how they are spread over the ranking.
    """

    name: str
    universe: str
    seen: str
    min_images: int = 0
    exclude_subtrees: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    leaves: Leaves = "universe"
    counted_over: Literal["universe", "eligible"] = "universe"
    measure: str = "lin"
    lcs: LcsRule = "depth"
    ties: TieRule = "stable"
    levels: int = 5
    size: int = 1000
    spread: Spread = "to-end"


# Sariyildiz et al. 2021, supplementary Table 2: offensive, or too ambiguous to tell apart.
COG_DROPPED = tuple(
    """
    n00005787 n00288384 n00466377 n00466524 n00466630 n00474568 n00475014 n00475273 n00475403 n00483313
    n00483409 n00483508 n00483848 n01314388 n01314663 n01314781 n01317294 n01317813 n01317916 n01318381
    n01318894 n01321770 n01322221 n01323355 n01323493 n01323599 n01324431 n01324610 n01515303 n01517966
    n01526521 n01862399 n01887474 n01888181 n02075612 n02152881 n02153109 n02156871 n02157206 n02236355
    n02377063 n02377291 n02472987 n02475078 n02475669 n02759257 n02767665 n02771004 n03198500 n03300216
    n03349771 n03393017 n03443005 n03680512 n04164406 n04193377 n04224543 n04425804 n04516354 n04979002
    n06255081 n06272612 n06274760 n07942152 n08182379 n08242223 n08578517 n09828216 n10300303 n13918274
    """.split()  # noqa: SIM905
)

COG_V2 = Recipe(
    name="cog-v2",
    universe="imagenet-21k",
    seen="imagenet-1k",
    min_images=782,
    exclude_subtrees=(PERSON,),
    exclude=COG_DROPPED,
    leaves="universe",
    counted_over="universe",
    ties="numpy-1.24",
    spread="to-end",
)
"""ImageNet-CoG as published at ICCV 2021: 5,146 eligible concepts, levels from ranks 0, 1036, 2072, 3108, 4146."""

COG_V1 = Recipe(
    name="cog-v1",
    universe="imagenet-21k",
    seen="imagenet-1k",
    min_images=782,
    exclude_subtrees=(PERSON,),
    leaves="eligible",
    counted_over="eligible",
    ties="numpy-1.24",
    spread="equal-gaps",
)
"""Its first version, January 2021: 5,754 eligible concepts, levels from ranks 0, 1188, 2376, 3564, 4752."""

RECIPES = {recipe.name: recipe for recipe in (COG_V2, COG_V1)}


def get_recipe(name: str) -> Recipe:
    """The recipe of that name; an unknown name is a user error."""
    if name not in RECIPES:
        raise UserError(f"no recipe '{name}'{did_you_mean(name, RECIPES) or '; there are ' + ', '.join(RECIPES)}")
    return RECIPES[name]
