"""Measures of retrieval against scikit-learn and against rankings that are walked one image after another."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from unseen.metrics.retrieval import (
    average_precision,
    average_precision_at_r,
    precision_at,
    recall_at_1,
    trapezoid_average_precision,
)

RANKINGS = st.lists(st.booleans(), min_size=1, max_size=30).filter(any)


def ranks_of(rankings: list[list[bool]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ranks of the relevant images, padded with numbers that must not be read."""
    places = [[rank for rank, hit in enumerate(ranking, 1) if hit] for ranking in rankings]
    most = max(map(len, places))
    padded = [each + [1 + number for number in range(most - len(each))] for each in places]
    return torch.tensor(padded), torch.tensor([len(each) for each in places])


@examples(30)
@given(st.lists(RANKINGS, min_size=1, max_size=5))
def test_every_measure_is_that_of_a_ranking_that_is_walked(rankings: list[list[bool]]) -> None:
    ranks, counts = ranks_of(rankings)
    found = {
        "average": average_precision(ranks, counts),
        "at r": average_precision_at_r(ranks, counts),
        "recall": recall_at_1(ranks, counts),
        "trapezoid": trapezoid_average_precision(ranks, counts),
        **{f"at {k}": precision_at(k, ranks, counts) for k in (1, 5, 10)},
    }
    for query, hits in enumerate(rankings):
        relevant = sum(hits)
        precisions = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        assert found["average"][query] == pytest.approx(sum(precisions[hits]) / relevant)
        scores = -np.arange(len(hits), dtype=float)
        assert found["average"][query] == pytest.approx(average_precision_score(hits, scores))
        first = np.array(hits[:relevant])
        assert found["at r"][query] == pytest.approx(sum(precisions[:relevant][first]) / relevant)
        assert found["recall"][query] == hits[0]
        assert found["trapezoid"][query] == pytest.approx(oxford(hits))
        last = max(place for place, hit in enumerate(hits, 1) if hit)
        for k in (1, 5, 10):
            length = min(k, last)
            assert found[f"at {k}"][query] == pytest.approx(sum(hits[:length]) / length)


def oxford(hits: list[bool]) -> float:
    """The area below precision and recall, as a walk down the ranking adds it up, from precision 1 at recall 0."""
    area, old_recall, old_precision, found = 0.0, 0.0, 1.0, 0
    for place, hit in enumerate(hits):
        found += hit
        recall, precision = found / sum(hits), found / (place + 1)
        area += (recall - old_recall) * (old_precision + precision) / 2
        old_recall, old_precision = recall, precision
    return area


def test_a_perfect_ranking_has_1_everywhere() -> None:
    ranks, counts = torch.tensor([[1, 2, 3]]), torch.tensor([3])
    for measure in (average_precision, average_precision_at_r, recall_at_1, trapezoid_average_precision):
        assert measure(ranks, counts).tolist() == [1.0]
    assert precision_at(10, ranks, counts).tolist() == [1.0]  # three images are enough, as only three can be found
