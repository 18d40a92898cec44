"""Stacked SGD against a plain `nn.Linear` trained by `torch.optim.SGD`, one classifier at a time."""

import math

import pytest
import torch
from torch import Generator, Tensor, nn

from unseen.probes.sgd.schedule import epoch_orders
from unseen.probes.sgd.stacked import initial_weights, train_stacked

DECAYS = torch.tensor([1e-4, 1e-7, 3e-3], dtype=torch.float64)


def blobs(n: int, d: int, classes: int) -> tuple[Tensor, Tensor]:
    generator = Generator().manual_seed(n + d)
    y = torch.arange(n) % classes
    X = torch.randn(classes, d, generator=generator)[y] + torch.randn(n, d, generator=generator)
    return nn.functional.normalize(X, dim=1), y


def with_constant(X: Tensor) -> Tensor:
    return torch.cat([X, X.new_ones(len(X), 1)], dim=1)


def plain_loop(X: Tensor, y: Tensor, initial: Tensor, rate: float, decay: float, epochs: int, batch: int) -> nn.Linear:
    """The public protocol: the rate is set after each epoch from that epoch's index."""
    model = nn.Linear(X.shape[1], initial.shape[1], dtype=X.dtype)
    with torch.no_grad():
        model.weight.copy_(initial[:-1].T)
        model.bias.copy_(initial[-1])
    optimiser = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=decay)
    blocks = epoch_orders(len(X), epochs, Generator().manual_seed(7))
    for epoch, order in enumerate(order for block in blocks for order in block.draw()):
        for chosen in order.split(batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(X[chosen]), y[chosen]).backward()
            optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
    return model


@pytest.mark.parametrize(
    ("n", "d", "classes", "batch"),
    [(100, 8, 3, 32), (96, 8, 3, 32), (50, 40, 5, 1024), (7, 3, 2, 2), (60, 1, 4, 16)],
    ids=["partial batch", "even batches", "one batch", "tiny", "one dimension"],
)
@pytest.mark.parametrize(
    ("dtype", "rates", "tolerance"),
    # At great rates training is chaotic: single precision shows its rounding after a few steps, double does not.
    [(torch.float32, [0.1, 1.0, 5.0], 1e-5), (torch.float64, [0.1, 10.0, 100.0], 1e-8)],
    ids=["single", "double"],
)
def test_weights_equal_the_plain_loop(
    n: int, d: int, classes: int, batch: int, dtype: torch.dtype, rates: list[float], tolerance: float
) -> None:
    X, y = blobs(n, d, classes)
    X = X.to(dtype)
    all_rates = torch.tensor(rates, dtype=torch.float64)
    initial = initial_weights(d, classes, Generator().manual_seed(1))
    options = {"epochs": 6, "batch": batch, "momentum": 0.9, "generator": Generator().manual_seed(7)}
    stacked = train_stacked(with_constant(X), y, initial, all_rates, DECAYS, **options)
    assert stacked.dtype == dtype
    for k, (rate, decay) in enumerate(zip(rates, DECAYS.tolist(), strict=True)):
        model = plain_loop(X, y, initial, rate, decay, epochs=6, batch=batch)
        scale = max(1.0, float(model.weight.detach().abs().max()))
        assert torch.allclose(stacked[k, :-1].T, model.weight, atol=tolerance * scale, rtol=0)
        assert torch.allclose(stacked[k, -1], model.bias, atol=tolerance * scale, rtol=0)


def test_the_initial_distribution_is_that_of_linear() -> None:
    ours = initial_weights(64, 500, Generator().manual_seed(0))
    torch.manual_seed(0)
    theirs = nn.Linear(64, 500)
    assert ours[:-1].abs().max() <= 1 / 8
    assert float(ours[:-1].std()) == pytest.approx(float(theirs.weight.detach().std()), rel=0.02)
    assert float(ours[-1].std()) == pytest.approx(float(theirs.bias.detach().std()), rel=0.1)


def test_a_classifier_that_diverges_stops_and_leaves_the_others_alone() -> None:
    X, y = blobs(40, 4, 3)
    X = with_constant(X)
    initial = initial_weights(4, 3, Generator().manual_seed(1))
    options = {"epochs": 12, "batch": 16, "momentum": 0.9}

    def train(rates: list[float], decays: list[float], *, mark: bool = False) -> Tensor:
        pairs = [torch.tensor(values, dtype=torch.float64) for values in (rates, decays)]
        generator = Generator().manual_seed(7)
        return train_stacked(X, y, initial, *pairs, generator=generator, mark_diverged=mark, **options)

    alone, both = train([0.5], [0.0]), train([0.5, 1e30], [0.0, 1e9])
    assert torch.allclose(both[0], alone[0], atol=1e-6)
    assert both[1].abs().max() > 1e10
    marked = train([0.5, 1e30], [0.0, 1e9], mark=True)
    assert torch.equal(marked[0], both[0])
    assert marked[1].isnan().all()
    assert train([1e30], [1e9], mark=True).isnan().all()
