"""Which samples are in which step, and at what rate."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator

from unseen.probes.schedule import Schedule, epoch_orders, learning_rate


def test_the_schedule_of_the_public_code() -> None:
    found = [learning_rate(epoch, 100) for epoch in range(100)]
    assert found[0] == found[1] == 1
    assert found[2] == pytest.approx(0.5 * (1 + math.cos(math.pi / 100)))
    assert found[99] == pytest.approx(0.5 * (1 + math.cos(math.pi * 98 / 100)))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 4), st.integers(0, 3))
def test_every_epoch_has_every_sample_once(samples: int, batch: int, epochs: int, extra: int) -> None:
    part = torch.arange(samples) * 3 + 1
    schedule = Schedule([part], epochs, batch)
    rows, filler = schedule.widest + extra, 10_000
    found = list(schedule.epochs_of_batches([Generator().manual_seed(0)], rows, filler))
    assert len(found) == epochs
    sizes = schedule.sizes().view(epochs, -1)
    for epoch, index in enumerate(found):
        assert index.shape == (schedule.steps, 1, rows)
        there = index != filler
        assert torch.equal(index[there].sort().values, part)
        assert torch.equal(there.sum(dim=2)[:, 0], sizes[epoch])
        assert (sizes[epoch][:-1] == min(batch, samples)).all()
    assert len(schedule.factors()) == epochs * schedule.steps


def test_problems_of_different_size_share_steps() -> None:
    parts = [torch.arange(5), torch.arange(10, 18)]
    schedule = Schedule(parts, 3, 100)
    first = next(schedule.epochs_of_batches([Generator().manual_seed(i) for i in (0, 1)], 8, -1))
    assert schedule.steps == 1
    assert schedule.sizes()[0].tolist() == [5, 8]
    assert sorted(first[0, 0].tolist()) == [-1, -1, -1, 0, 1, 2, 3, 4]
    assert sorted(first[0, 1].tolist()) == list(range(10, 18))


def test_orders_differ_by_epoch_and_depend_on_the_generator_alone() -> None:
    draws = [[order.draw() for order in epoch_orders(50, 4, Generator().manual_seed(seed))] for seed in (1, 1, 2)]
    assert all(torch.equal(a, b) for a, b in zip(draws[0], draws[1], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(draws[0], draws[2], strict=True))
    assert not torch.equal(draws[0][0], draws[0][1])
