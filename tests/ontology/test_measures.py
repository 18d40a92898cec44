"""Every measure against NLTK, on thousands of random pairs of WordNet's nouns, and at its edges."""

import math
from time import process_time
from typing import Any

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.ontology.information import information_content
from unseen.ontology.measures import all_measures, get_measure, similarity, similarity_matrix
from unseen.ontology.space import Space
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import ENTITY, imagenet_taxonomy, wordnet


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return wordnet().taxonomy


@pytest.fixture(scope="module")
def content(taxonomy: Taxonomy) -> Any:
    return information_content(taxonomy)


@pytest.fixture(scope="module")
def ids(taxonomy: Taxonomy, content: Any) -> tuple[list[str], list[str]]:
    """Awkward concepts, which the two rules for the lowest common ancestor tell apart, and random ones."""
    rng = np.random.default_rng(0)
    several = np.flatnonzero(np.diff(taxonomy.parent_start) > 1).astype(np.int32)
    pool = rng.permutation(np.flatnonzero(taxonomy.below(several)))[:3000].astype(np.int32)
    depth, information = (
        Space(taxonomy, content, lcs=rule).lowest_common(pool[:1500], pool[1500:]) for rule in ("depth", "information")
    )
    row, column = np.nonzero(depth != information)
    assert len(row) > 100
    picked = rng.choice(len(row), 40, replace=False)
    _, above, _ = taxonomy.ancestry.rows(pool[row[picked[:4]]])
    others = rng.choice(len(taxonomy), (2, 20))
    rows = np.concatenate([pool[row[picked]], above, others[0]])
    columns = np.concatenate([pool[1500 + column[picked]], above, others[1]])
    # NLTK divides by zero at the root.
    return tuple([taxonomy.ids[i] for i in nodes if taxonomy.ids[i] != ENTITY] for nodes in (rows, columns))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def synsets(nltk_wordnet: Any) -> Any:
    nltk_wordnet._max_depth["n", False] = 19  # WordNet 3.0's; NLTK would walk through all synsets to find it
    return lambda wnid: nltk_wordnet.synset_from_pos_and_offset("n", int(wnid[1:]))


@pytest.fixture(scope="module")
def nltk_content(taxonomy: Taxonomy) -> dict[str, dict[int, float]]:
    """NLTK's table of counts, with concepts counted as PROTOCOLS has it."""
    counts = taxonomy.descendant_counts().tolist()
    table = {int(wnid[1:]): float(count) for wnid, count in zip(taxonomy.ids, counts, strict=True)}
    return {"n": table | {0: float(len(taxonomy))}}


NLTK = {
    "lin": lambda a, b, ic: a.lin_similarity(b, ic),
    "resnik": lambda a, b, ic: a.res_similarity(b, ic),
    "jiang-conrath": lambda a, b, ic: a.jcn_similarity(b, ic),
    "wu-palmer": lambda a, b, _: a.wup_similarity(b),
    "path": lambda a, b, _: a.path_similarity(b),
    "leacock-chodorow": lambda a, b, _: a.lch_similarity(b),
}


@pytest.fixture(scope="module", params=[300, pytest.param(1500, marks=pytest.mark.long_suite)])
def cells(request: pytest.FixtureRequest, ids: Any) -> list[tuple[int, int]]:
    """Places in the matrix of all pairs to ask NLTK about: it takes milliseconds for each.

    The first 40 of the diagonal are pairs that the two rules for the lowest common ancestor tell apart.
    """
    rows, columns = map(len, ids)
    rng, pairs = np.random.default_rng(1), request.param
    return [*zip(range(rows), range(columns), strict=False)] + [
        (int(i), int(j)) for i, j in zip(rng.integers(rows, size=pairs), rng.integers(columns, size=pairs), strict=True)
    ]


@pytest.mark.parametrize("measure", sorted(NLTK))
def test_equals_nltk(
    measure: str, taxonomy: Taxonomy, content: Any, ids: Any, cells: Any, synsets: Any, nltk_content: Any
) -> None:
    rows, columns = ids
    ours = similarity_matrix(Space(taxonomy, content, lcs="information"), rows, columns, measure)
    firsts, seconds = ([synsets(wnid) for wnid in wnids] for wnids in ids)
    theirs = np.array([NLTK[measure](firsts[i], seconds[j], nltk_content) for i, j in cells])
    theirs[theirs == 1e300] = math.inf  # NLTK's stand-in for infinity
    np.testing.assert_allclose(ours[tuple(np.transpose(cells))], theirs, atol=1e-9, rtol=1e-9)


def test_lowest_common_ancestor_by_depth_equals_nltk(taxonomy: Taxonomy, ids: Any, cells: Any, synsets: Any) -> None:
    rows, columns = ids
    found = Space(taxonomy).lowest_common(taxonomy.index(rows), taxonomy.index(columns))
    firsts, seconds = ([synsets(wnid) for wnid in wnids] for wnids in ids)
    for i, j in cells:
        theirs = firsts[i].lowest_common_hypernyms(seconds[j])[0]
        assert taxonomy.names[found[i, j]] == theirs.name(), (rows[i], columns[j])


def test_the_two_rules_for_the_lowest_common_ancestor_differ(taxonomy: Taxonomy, content: Any, ids: Any) -> None:
    rows, columns = map(taxonomy.index, ids)
    depth, information = (
        Space(taxonomy, content, lcs=rule).lowest_common(rows, columns) for rule in ("depth", "information")
    )
    assert (depth != information).sum() > 10
    assert (content[information] >= content[depth]).all()
    assert (taxonomy.depth[depth] >= taxonomy.depth[information]).all()


@pytest.mark.parametrize(
    ("other", "value"),
    [
        ("n02121808", 0.828703),
        ("n02121620", 0.779486),
        ("n02123045", 0.707509),
        ("n02129604", 0.640768),
        ("n02084071", 0.560556),
        ("n01503061", 0.309686),
        ("n02958343", 0.016379),
    ],
)
def test_lin_of_the_tiger_cat(other: str, value: float) -> None:
    assert similarity(Space(imagenet_taxonomy()), "n02123159", other) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("measure", [name for name in all_measures() if name != "cosine"])
def test_pair_and_matrix_agree_and_self_is_nearest(measure: str) -> None:
    space = Space(imagenet_taxonomy())
    rows = [space.taxonomy.ids[i] for i in range(50, 20_000, 1500)]
    matrix = similarity_matrix(space, rows, rows, measure)
    assert matrix[3, 5] == similarity(space, rows[3], rows[5], measure)
    assert (matrix.max(axis=1) == np.diag(matrix)).all()
    if measure != "wu-palmer":
        assert np.array_equal(matrix, matrix.T)


def test_the_root_and_concepts_never_seen_have_defined_similarities() -> None:
    taxonomy = Taxonomy.from_edges([("a", "root"), ("b", "root"), ("c", "b")])
    counts = taxonomy.index(["a"])
    space = Space(taxonomy, information_content(taxonomy, counts))
    assert space.information[taxonomy.position["c"]] == math.inf
    for name, alone in (("lin", 1.0), ("jiang-conrath", math.inf)):
        matrix = similarity_matrix(space, ["root", "a", "b", "c"], ["root", "a", "b", "c"], name)
        assert (np.diag(matrix) == alone).all()
        assert (matrix[~np.eye(4, dtype=bool)] == 0).all()
    plain = Space(taxonomy)
    assert similarity(plain, "root", "c") == 0
    assert similarity(plain, "root", "root") == 1
    assert ENTITY not in taxonomy.position


def test_cosine() -> None:
    taxonomy = Taxonomy.from_edges([("a", "root"), ("b", "root")])
    space = Space(taxonomy, given_vectors=np.array([[3.0, 4.0], [4.0, 3.0], [0.0, 0.0]]))
    assert similarity(space, "a", "b", "cosine") == pytest.approx(24 / 25)
    assert similarity(space, "a", "root", "cosine") == 0
    with pytest.raises(UserError, match="vectors=FILE"):
        similarity(Space(taxonomy), "a", "b", "cosine")


def test_an_unknown_measure_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match="no measure 'lim'; did you mean lin"):
        get_measure("lim")


def test_the_matrix_of_the_paper_takes_less_than_a_second() -> None:
    net, space = wordnet(), Space(imagenet_taxonomy())
    rows, columns = net.members("imagenet-21k")[:5146], net.members("imagenet-1k")
    _ = space.information
    times = []
    for _ in range(3):
        start = process_time()
        similarity_matrix(space, rows, columns)
        times.append(process_time() - start)
    assert min(times) < 1
