"""The arrays of a taxonomy against plain sets and recursion, on random graphs."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.ontology.taxonomy import ADDED_ROOT, Taxonomy


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Edges of a random acyclic graph with one root, multiple inheritance included."""
    n = draw(st.integers(1, 14))
    edges = [("c0", "")]
    for i in range(1, n):
        parents = draw(st.sets(st.integers(0, i - 1), min_size=1, max_size=min(i, 3)))
        edges += [(f"c{i}", f"c{parent}") for parent in parents]
    return edges


def parents_of(edges: list[tuple[str, str]]) -> dict[str, set[str]]:
    nodes = {node for edge in edges for node in edge if node}
    return {node: {parent for child, parent in edges if child == node and parent} for node in nodes}


@given(graphs())
def test_ancestors_depths_and_counts_equal_a_recursive_reference(edges: list[tuple[str, str]]) -> None:
    taxonomy, parents = Taxonomy.from_edges(edges), parents_of(edges)

    @cache
    def distances(node: str) -> tuple[tuple[str, int], ...]:
        found = {node: 0}
        for parent in parents[node]:
            for above, steps in distances(parent):
                found[above] = min(found.get(above, 99), steps + 1)
        return tuple(sorted(found.items()))

    @cache
    def longest(node: str) -> int:
        return max((longest(parent) + 1 for parent in parents[node]), default=0)

    ancestry = taxonomy.ancestry
    for i, node in enumerate(taxonomy.ids):
        row = slice(ancestry.start[i], ancestry.start[i + 1])
        found = {taxonomy.ids[a]: int(d) for a, d in zip(ancestry.node[row], ancestry.distance[row], strict=True)}
        assert found == dict(distances(node))
        assert taxonomy.depth[i] == longest(node)
        assert taxonomy.min_depth[i] == dict(distances(node))["c0"]
    below = {node: {other for other in parents if node in dict(distances(other))} for node in parents}
    counts = taxonomy.descendant_counts()
    assert {node: counts[i] for i, node in enumerate(taxonomy.ids)} == {node: len(below[node]) for node in parents}
    some = [node for node in taxonomy.ids if int(node[1:]) % 2]
    among = taxonomy.descendant_counts(taxonomy.index(some))
    assert [among[i] for i in range(len(taxonomy))] == [len(below[node] & set(some)) for node in taxonomy.ids]
    marked_above, marked_below = taxonomy.above(taxonomy.index(some)), taxonomy.below(taxonomy.index(some))
    for i, node in enumerate(taxonomy.ids):
        assert marked_above[i] == any(node != s and node in dict(distances(s)) for s in some)
        assert marked_below[i] == any(s in dict(distances(node)) for s in some)


@given(graphs(), st.data())
def test_closure_keeps_ancestors_and_depths(edges: list[tuple[str, str]], data: st.DataObject) -> None:
    taxonomy = Taxonomy.from_edges(edges)
    chosen = data.draw(st.lists(st.sampled_from(taxonomy.ids), min_size=1))
    part = taxonomy.closure(chosen)
    _, above, _ = taxonomy.ancestry.rows(taxonomy.index(chosen))
    assert set(part.ids) == {taxonomy.ids[i] for i in above}
    assert [part.depth[i] for i in range(len(part))] == [taxonomy.depth[taxonomy.position[node]] for node in part.ids]


def test_several_roots_are_joined() -> None:
    taxonomy = Taxonomy.from_edges([("cat", "animal"), ("oak", "plant")])
    assert ADDED_ROOT in taxonomy.ids
    assert taxonomy.depth[taxonomy.position["cat"]] == 2


def test_a_cycle_is_named() -> None:
    with pytest.raises(UserError, match=r"cycle: (a → b → c → a|b → c → a → b|c → a → b → c)"):
        Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("d", "")])


def test_an_edge_to_itself_is_a_cycle() -> None:
    with pytest.raises(UserError, match="cycle: a → a"):
        Taxonomy.from_edges([("a", "a"), ("b", "")])


def test_an_edge_given_twice_is_refused() -> None:
    with pytest.raises(UserError, match="a → b is given twice"):
        Taxonomy.from_edges([("a", "b"), ("a", "b")])


def test_an_unknown_id_gets_a_suggestion() -> None:
    taxonomy = Taxonomy.from_edges([("tiger", "cat"), ("lion", "cat")])
    with pytest.raises(UserError, match="tigre is not in the taxonomy; did you mean tiger"):
        taxonomy.index(["tigre"])


def test_one_concept_is_a_taxonomy() -> None:
    taxonomy = Taxonomy.from_edges([("thing", "")])
    assert taxonomy.depth.tolist() == [0]
    assert taxonomy.ancestry.node.tolist() == [0]
    assert np.array_equal(taxonomy.descendant_counts(), [1])
