"""Which samples are in which step, and at what rate."""

import math

import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from unseen.probes.sgd import schedule
from unseen.probes.sgd.schedule import Schedule, epoch_orders, learning_rate, sample_stream


def test_the_schedule_of_the_public_code() -> None:
    found = [learning_rate(epoch, 100) for epoch in range(100)]
    assert found[0] == found[1] == 1
    assert found[2] == pytest.approx(0.5 * (1 + math.cos(math.pi / 100)))
    assert found[99] == pytest.approx(0.5 * (1 + math.cos(math.pi * 98 / 100)))


@examples(40)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 4), st.integers(0, 3))
def test_every_epoch_has_every_sample_once(samples: int, batch: int, epochs: int, extra: int) -> None:
    part = torch.arange(samples) * 3 + 1
    plan = Schedule([part], epochs, batch)
    rows, filler = plan.widest + extra, 10_000
    found = torch.cat(list(plan.epochs_of_batches([Generator().manual_seed(0)], rows, filler)))
    assert len(found) == epochs * plan.steps
    sizes = plan.sizes().view(epochs, -1)
    for epoch, index in enumerate(found.split(plan.steps)):
        assert index.shape == (plan.steps, 1, rows)
        there = index != filler
        assert torch.equal(index[there].sort().values, part)
        assert torch.equal(there.sum(dim=2)[:, 0], sizes[epoch])
        assert (sizes[epoch][:-1] == min(batch, samples)).all()
    assert len(plan.factors()) == epochs * plan.steps


def test_problems_of_different_size_share_steps() -> None:
    parts = [torch.arange(5), torch.arange(10, 18)]
    plan = Schedule(parts, 3, 100)
    first = next(plan.epochs_of_batches([Generator().manual_seed(i) for i in (0, 1)], 8, -1))
    assert plan.steps == 1
    assert plan.sizes()[0].tolist() == [5, 8]
    assert sorted(first[0, 0].tolist()) == [-1, -1, -1, 0, 1, 2, 3, 4]
    assert sorted(first[0, 1].tolist()) == list(range(10, 18))


@pytest.mark.parametrize("block", [1, 60, 1000])
def test_orders_differ_by_epoch_and_depend_on_the_generator_alone(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(schedule, "BLOCK", block)
    draws = [
        torch.cat([orders.draw() for orders in epoch_orders(50, 5, Generator().manual_seed(seed))])
        for seed in (1, 1, 2)
    ]
    assert draws[0].shape == (5, 50)
    assert (draws[0].sort(dim=1).values == torch.arange(50)).all()
    assert torch.equal(draws[0], draws[1])
    assert len(torch.unique(torch.cat([draws[0], draws[2]]), dim=0)) == 10


@examples(40)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 15), st.integers(1, 4), st.integers(1, 60))
def test_a_stream_has_every_sample_once_before_any_twice(
    samples: int, batch: int, steps: int, together: int, block: int
) -> None:
    part, filler = torch.arange(samples) * 3 + 1, 10_000
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(schedule, "BLOCK", block)
        found = list(sample_stream(part, steps, batch, together, Generator().manual_seed(0), filler))
    assert {len(each) for each in found} == {together * batch}
    assert len(found) == -(-steps // together)
    flat = torch.cat(found)
    drawn, rest = flat[: steps * batch], flat[steps * batch :]
    assert (rest == filler).all()
    orders = drawn.split(samples)
    assert all(torch.equal(order.sort().values, part) for order in orders[:-1])
    assert len(orders[-1].unique()) == len(orders[-1])
    assert {*orders[-1].tolist()} <= {*part.tolist()}
