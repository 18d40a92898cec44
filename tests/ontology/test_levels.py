"""The levels against what the papers print, and levels of one's own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import unseen
from unseen.errors import UserError
from unseen.ontology.concept_sets import read_counts
from unseen.ontology.levels import Built, Levels, build_levels, load_levels, random_levels, rerank_levels
from unseen.ontology.recipes import COG_DROPPED, COG_V1, COG_V2, Recipe, get_recipe
from unseen.ontology.space import Space
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import imagenet_taxonomy, wordnet

STEPS = {"cog-v2": [20_842, 20_081, 7443, 6840, 5216, 5146], "cog-v1": [20_842, 20_081, 7443, 6840, 5754]}
# Images per level with at most 1350 a concept. For cog-v1 the paper prints 1166497, 1162532, 1157993, 1156172, 1131387.
CAPPED = {
    "cog-v2": [1_168_804, 1_165_790, 1_145_206, 1_157_129, 1_141_662],
    "cog-v1": [1_166_495, 1_162_534, 1_157_994, 1_156_173, 1_131_398],
}
STARTS = {"cog-v2": [0, 1036, 2072, 3108, 4146], "cog-v1": [0, 1188, 2376, 3564, 4752]}


def build(recipe: Recipe, counts: dict[str, int]) -> Built:
    net = wordnet()
    return build_levels(recipe, net.taxonomy, net.members("imagenet-21k"), net.members("imagenet-1k"), counts=counts)


@pytest.fixture(scope="module")
def counts(counts_file: Path) -> dict[str, int]:
    return read_counts(counts_file, wordnet().members("imagenet-21k"))


@pytest.fixture(scope="module", params=[COG_V2, COG_V1], ids=lambda recipe: recipe.name)
def built(request: pytest.FixtureRequest, counts: dict[str, int]) -> Built:
    return build(request.param, counts)


def test_every_step_leaves_the_known_number(built: Built) -> None:
    assert built.selection.universe == 21_841
    assert [step.left for step in built.selection.steps] == STEPS[built.recipe.name]


def test_built_levels_are_the_shipped_ones(built: Built, tmp_path: Path) -> None:
    shipped = load_levels(built.recipe.name)
    built.levels.write(tmp_path / "levels.csv")
    assert Levels.read(tmp_path / "levels.csv", shipped.name) == shipped
    assert [c.similarity for c in built.levels.concepts] == pytest.approx([c.similarity for c in shipped.concepts])


def test_images_and_starts_of_the_shipped_levels() -> None:
    for name in ("cog-v2", "cog-v1"):
        levels = unseen.levels(name)
        assert len(levels) == 5
        assert [sum(min(c.images or 0, 1350) for c in levels[i]) for i in range(1, 6)] == CAPPED[name]
        assert [levels[i][0].rank for i in range(1, 6)] == STARTS[name]
        assert all(len(levels[i]) == 1000 for i in range(1, 6))


def test_mean_similarities_of_the_shipped_levels() -> None:
    levels = unseen.levels("cog-v2")
    means = [np.mean([c.similarity for c in levels[i]]) for i in range(1, 6)]
    assert means == pytest.approx([0.844867, 0.692223, 0.574521, 0.445412, 0.198137], abs=5e-7)


def test_shipped_concepts_are_unseen_leaves_and_distinct() -> None:
    levels, net, taxonomy = unseen.levels("cog-v2"), wordnet(), imagenet_taxonomy()
    ids = [c.wnid for c in levels.concepts]
    seen = set(net.members("imagenet-1k"))
    assert len(set(ids)) == 5000
    assert not set(ids) & (seen | set(COG_DROPPED))
    assert not taxonomy.above(taxonomy.index(net.members("imagenet-21k")))[taxonomy.index(ids)].any()
    assert {c.nearest for c in levels.concepts} <= seen
    assert all(c.name == net.synset(c.wnid).name for c in levels.concepts[::100])


def test_only_336_similarities_are_distinct_and_ties_decide(counts: dict[str, int]) -> None:
    published, stable = build(COG_V2, counts), build(replace(COG_V2, ties="stable"), counts)
    assert len({c.similarity for c in published.ranking}) == 336
    shared = [len(set(published.levels.ids(i)) & set(stable.levels.ids(i))) for i in range(1, 6)]
    assert shared == [999, 994, 987, 988, 1000]


def test_winter_2021_release_gives_the_same_levels(counts: dict[str, int]) -> None:
    """It lacks the person subtree and more, but no concept of the levels, as the paper's appendix E says.

    Here the part that is known to be lacking counts zero images, and nothing changes.
    """
    taxonomy = imagenet_taxonomy()
    person = taxonomy.below(taxonomy.index(["n00007846"]))
    fewer = {wnid: 0 if person[taxonomy.position[wnid]] or wnid in COG_DROPPED else n for wnid, n in counts.items()}
    assert build(COG_V2, fewer).levels == build(COG_V2, counts).levels


@pytest.mark.parametrize(
    ("wnid", "why"),
    [
        ("n02123159", "it is a seen concept"),
        ("n02121808", "it is an ancestor of a seen concept"),
        ("n00442981", "fewer than 782 images"),
        ("n09619168", "under person.n.01"),
        ("n00440747", "ancestor of another concept of the universe"),
        ("n00005787", "on the recipe's list"),
        ("n00001740", "not in the universe"),
        ("n03957315", "is in level 1: rank 0 of 5146, similarity 0.964345 to n03991062"),
    ],
)
def test_explanations(counts: dict[str, int], wnid: str, why: str) -> None:
    assert why in build(COG_V2, counts).explain(wnid)


def test_a_concept_in_a_gap_says_so(counts: dict[str, int]) -> None:
    built = build(COG_V2, counts)
    gap = next(c for c in built.ranking if c.rank == 1000)
    assert "gap between levels" in built.explain(gap.wnid)


SPECIES = [
    *[(f"{kind}{i}", kind) for kind in ("finch", "hawk", "beetle", "moss") for i in range(4)],
    ("finch", "bird"), ("hawk", "bird"), ("bird", "animal"), ("beetle", "animal"), ("animal", "life"), ("moss", "life"),
]  # fmt: skip


def test_levels_of_a_species_tree() -> None:
    """Fifteen unseen species, three levels of four: the gaps are one species each, and the last two beetles."""
    taxonomy = Taxonomy.from_edges(SPECIES)
    recipe = Recipe("own", "taxonomy", "file", levels=3, size=4)
    built = build_levels(recipe, taxonomy, taxonomy.ids, ["finch0"])
    assert [set(built.levels.ids(i)) for i in (1, 2, 3)] == [
        {"finch1", "finch2", "finch3", "hawk0"},
        {"hawk2", "hawk3", "beetle0", "beetle1"},
        {f"moss{i}" for i in range(4)},
    ]
    ranks = {c.wnid: c.similarity for c in built.ranking}
    assert ranks["finch1"] > ranks["hawk1"] > ranks["beetle1"] > ranks["moss1"] == 0


def test_no_seen_concepts_is_an_error() -> None:
    taxonomy = Taxonomy.from_edges(SPECIES)
    with pytest.raises(UserError, match="at least one"):
        build_levels(Recipe("own", "taxonomy", ""), taxonomy, taxonomy.ids, [])


def test_random_levels_are_seeded_subsets() -> None:
    concepts = unseen.levels("cog-v2").concepts
    draws = random_levels(concepts, 15, 1000, seed=3)
    assert len(draws) == 15
    assert all(len(set(draws.ids(i))) == 1000 for i in range(1, 16))
    assert set(draws.ids(1)) <= {c.wnid for c in concepts}
    assert draws == random_levels(tuple(reversed(concepts)), 15, 1000, seed=3)
    assert all([c.rank for c in level] == sorted(c.rank for c in level) for level in draws)
    assert draws.ids(1) != random_levels(concepts, 15, 1000, seed=4).ids(1)
    expected = 1000 * 1000 / 5000
    assert len(set(draws.ids(1)) & set(draws.ids(2))) == pytest.approx(expected, abs=60)
    with pytest.raises(UserError, match="too few"):
        random_levels(concepts[:10], 1, 11, seed=0)


def test_reranking_keeps_the_concepts() -> None:
    levels, seen = unseen.levels("cog-v2"), wordnet().members("imagenet-1k")
    recipe = replace(COG_V2, measure="path", ties="stable")
    ranked = rerank_levels(levels, recipe, Space(imagenet_taxonomy()), seen)
    assert {c.wnid for c in ranked.concepts} == {c.wnid for c in levels.concepts}
    assert [len(ranked[i]) for i in range(1, 6)] == [1000] * 5
    assert ranked.ids(1) != levels.ids(1)


def test_seen_concepts_and_repeated_ones_cannot_be_ranked_again() -> None:
    levels, space = unseen.levels("cog-v2"), Space(imagenet_taxonomy())
    with pytest.raises(UserError, match="is itself a seen concept"):
        rerank_levels(levels, COG_V2, space, [levels.concepts[7].wnid])
    draws = random_levels(levels.concepts, 2, 4000, seed=0)
    with pytest.raises(UserError, match="in several levels"):
        rerank_levels(draws, COG_V2, space, wordnet().members("imagenet-1k"))


def test_level_files_survive_a_round_trip(tmp_path: Path) -> None:
    draws = random_levels(unseen.levels("cog-v2").concepts, 3, 10, seed=0)
    draws.write(tmp_path / "draws.csv")
    again = Levels.read(tmp_path / "draws.csv", draws.name)
    assert again == draws


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("level,rank,wnid,name\n0,0,n1,x\n", "line 2: levels count from 1"),
        ("level,rank,wnid,name\none,0,n1,x\n", "line 2: invalid literal"),
        ("level,rank,wnid,name\n1,0,n1,x\n1,1,n1,x\n", "line 3: n1 is twice in level 1"),
        ("level,rank,wnid,name\n", "no concepts"),
        ("level,rank,wnid,name,similarity\n1,0,n1,x,nan\n", "line 2: a similarity must be finite"),
        ("level,rank,wnid,name,images\n1,0,n1,x,-4\n", "line 2: n1 has a negative number of images"),
        ("level,rank,wnid\n", "no column 'name'"),
    ],
)
def test_bad_level_files_are_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        load_levels(tmp_path / "bad.csv")


def test_unknown_names_get_suggestions() -> None:
    with pytest.raises(UserError, match="no levels 'cog-v3'; did you mean"):
        unseen.levels("cog-v3")
    with pytest.raises(UserError, match="no recipe 'cogv2'; did you mean cog-v2"):
        get_recipe("cogv2")
    with pytest.raises(UserError, match="has no level 6; it has 1, 2, 3, 4, 5"):
        unseen.levels("cog-v2")[6]
