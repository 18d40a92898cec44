"""Ranks of relevant rows against sorting every ranking, with ties, duplicates, junk and classes of any size."""

from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from unseen.device import default_device
from unseen.metrics.retrieval import average_precision
from unseen.probes.neighbours import UnitRows
from unseen.probes.retrieval import ranks as module
from unseen.probes.retrieval.ranks import counted_before, relevant_ranks, sorted_before
from unseen.probes.retrieval.relevance import Listed, Relevance, SameClass

POINTS = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 3)), min_size=2, max_size=40)


def ranked(queries: Tensor, gallery: Tensor, relevance: Relevance) -> dict[int, list[int]]:
    found = dict[int, list[int]]()
    for block in relevant_ranks(queries, gallery, relevance):
        for query, ranks, count in zip(*map(Tensor.tolist, (block.queries, block.ranks, block.counts)), strict=True):
            found[query] = ranks[:count]
    return found


def plain(products: Tensor, relevant: list[list[bool]], ignored: list[list[bool]]) -> dict[int, list[int]]:
    """Rankings that are sorted; of equal products, irrelevant rows come first."""
    found = dict[int, list[int]]()
    for query, row in enumerate(products.tolist()):
        order = sorted((-score, relevant[query][place]) for place, score in enumerate(row) if not ignored[query][place])
        places = [rank for rank, (_, hit) in enumerate(order, 1) if hit]
        if places:
            found[query] = places
    return found


@examples(60)
@given(POINTS, st.sampled_from([200, 10_000, 1 << 28]), st.sampled_from([sorted_before, counted_before]), st.booleans())
def test_ranks_with_ties_are_those_of_sorted_rankings(
    points: list[tuple[int, int, int]], budget: int, before: Any, leave_one_out: bool
) -> None:
    """Products of small integers are exact, and many are equal; the way of a GPU gives the same ranks."""
    X, y = torch.tensor([point[:2] for point in points]).float(), torch.tensor([point[2] for point in points])
    half = len(points) // 2
    queries, own = (X, y) if leave_one_out else (X[:half], y[:half])
    gallery, classes = (X, y) if leave_one_out else (X[half:], y[half:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.BUDGET, "cpu", budget)
        patch.setattr(module, "sorted_before", before)
        found = ranked(queries, gallery, SameClass(own, classes, leave_one_out))
    same = (own[:, None] == classes).tolist()
    removed = [[leave_one_out and query == row for row in range(len(gallery))] for query in range(len(queries))]
    assert found == plain(queries @ gallery.T, same, removed)


@examples(40)
@given(st.data(), st.integers(1, 20), st.integers(1, 4))
def test_junk_is_removed_before_ranks_are_counted(data: st.DataObject, rows: int, queries: int) -> None:
    codes = [[data.draw(st.integers(0, 2)) for _ in range(queries)] for _ in range(rows)]
    marks = torch.tensor(codes)
    X = torch.tensor([[data.draw(st.integers(-3, 3))] for _ in range(rows)]).float()
    Q = torch.ones(queries, 1)
    found = ranked(Q, X, Listed(marks == 1, marks == 2))
    assert found == plain(Q @ X.T, (marks == 1).T.tolist(), (marks == 2).T.tolist())


def test_many_classes_of_unequal_sizes_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator().manual_seed(0)
    y = torch.tensor(np.random.default_rng(0).zipf(1.3, 900).clip(max=60)) - 1
    X = torch.randn(900, 16, generator=generator) + torch.randn(60, 16, generator=generator)[y]
    X = torch.nn.functional.normalize(X.double(), dim=1).float()
    monkeypatch.setitem(module.BUDGET, "cpu", 1 << 20)
    relevance = SameClass(y, y, leave_one_out=True)
    blocks = list(relevant_ranks(X, X, relevance))
    assert len(blocks) > 20
    several = torch.where(y.bincount()[y] > 1)[0].tolist()
    assert sorted(torch.cat([block.queries for block in blocks]).tolist()) == several
    order = (X @ X.T).fill_diagonal_(-2).argsort(dim=1, descending=True)[:, :-1]
    hits = (y[order] == y[:, None]).double()
    expected = (hits.cumsum(1) / torch.arange(1, 900) * hits).sum(1) / hits.sum(1)
    for block in blocks:
        found = average_precision(block.ranks, block.counts)
        assert torch.allclose(found, expected[block.queries], atol=1e-3)  # nearly equal products may change places
    streamed = list(relevant_ranks(X, UnitRows(X.numpy(), torch.device("cpu")), relevance))
    for one, other in zip(blocks, streamed, strict=True):  # scaled once more, so that last digits differ
        assert torch.equal(one.queries, other.queries)
        beyond = torch.arange(one.ranks.shape[1]) >= one.counts[:, None]
        assert int((one.ranks - other.ranks).masked_fill(beyond, 0).abs().max()) <= 1


def test_equal_features_rank_lowest_in_any_order() -> None:
    X, y = torch.ones(6, 4) / 2, torch.tensor([0, 0, 0, 1, 1, 2])
    assert ranked(X, X, SameClass(y, y, leave_one_out=True)) == {
        0: [4, 5], 1: [4, 5], 2: [4, 5], 3: [5], 4: [5],
    }  # fmt: skip


@pytest.mark.gpu_too
def test_ranks_on_the_usual_device_are_those_of_sorted_rankings() -> None:
    """Products of small integers are exact on every device."""
    generator, device = Generator().manual_seed(0), default_device()
    X, y = torch.randint(-4, 5, (700, 6), generator=generator).float(), torch.randint(9, (700,), generator=generator)
    found = ranked(X.to(device), X.to(device), SameClass(y.to(device), y.to(device), leave_one_out=True))
    assert found == plain(X @ X.T, (y[:, None] == y).tolist(), torch.eye(700, dtype=torch.bool).tolist())
