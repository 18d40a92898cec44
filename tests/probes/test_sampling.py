"""Draws per class."""

import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from unseen.probes.samples import SamplesPerClass
from unseen.probes.sampling import draw_shots, split_validation

LABELS = st.lists(st.integers(0, 5), min_size=1, max_size=60).map(torch.tensor)


@given(LABELS, st.sampled_from([0.1, 0.2, 0.5]), st.integers(0, 3))
def test_validation_takes_its_share_of_each_class(y: torch.Tensor, share: float, seed: int) -> None:
    fit, held = split_validation(y, share, Generator().manual_seed(seed))
    assert sorted(fit.tolist() + held.tolist()) == list(range(len(y)))
    for label in torch.unique(y).tolist():
        n, got = int((y == label).sum()), int((y[held] == label).sum())
        assert got == (0 if n == 1 else max(int(n * share), 1))


@given(LABELS, st.integers(1, 8))
def test_shots_are_distinct_and_as_many_as_there_are(y: torch.Tensor, shots: int) -> None:
    chosen = draw_shots(y, shots, Generator().manual_seed(0))
    assert len(set(chosen.tolist())) == len(chosen)
    for label in torch.unique(y).tolist():
        assert int((y[chosen] == label).sum()) == min(shots, int((y == label).sum()))


@given(LABELS, st.integers(1, 8))
def test_samples_per_class_of_a_draw_follow_from_those_of_all(y: torch.Tensor, shots: int) -> None:
    samples = SamplesPerClass.of_labels(y)
    drawn = y[draw_shots(y, shots, Generator().manual_seed(0))]
    assert samples.drawn(shots) == SamplesPerClass.of_labels(drawn)
    counts = sorted(torch.unique(y, return_counts=True)[1].tolist())
    assert (samples.fewest, samples.most) == (counts[0], counts[-1])
    assert samples.median == statistics.median_low(counts)
    assert (samples.total_shortage(shots) is None) == (max(counts) >= shots)


def test_draws_follow_the_seed() -> None:
    y = torch.arange(10).repeat(20)
    first, same, other = (draw_shots(y, 3, Generator().manual_seed(seed)).tolist() for seed in (0, 0, 1))
    assert first == same != other


def test_every_sample_is_as_likely() -> None:
    """Each of 10 samples should be drawn 300 times in 1000 draws of 3; the deviation is 14.5."""
    counts = torch.zeros(10)
    for seed in range(1000):
        counts[draw_shots(torch.zeros(10, dtype=torch.long), 3, Generator().manual_seed(seed))] += 1
    assert counts.tolist() == pytest.approx([300] * 10, abs=5 * 14.5)
