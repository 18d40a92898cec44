"""Training in the span of few samples gives the weights that training in the whole space does."""

import pytest
import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize, pad

from unseen.probes.protocol import LogisticProtocol
from unseen.probes.sgd.few_samples import shrinkage, small_problem
from unseen.probes.sgd.schedule import Schedule
from unseen.probes.sgd.stacked import initial_weights, train_stacked
from unseen.probes.sgd.trainer import Trainer

RATES = torch.tensor([0.3, 20.0], dtype=torch.float64)
DECAYS = torch.tensor([1e-2, 1e-4], dtype=torch.float64)


def few(n: int, d: int, classes: int) -> tuple[Tensor, Tensor]:
    generator = Generator().manual_seed(0)
    return normalize(torch.randn(n, d, generator=generator, dtype=torch.float64), dim=1), torch.arange(n) % classes


def whole_space(X: Tensor, y: Tensor, initial: Tensor) -> Tensor:
    options = {"epochs": 8, "batch": len(X), "momentum": 0.9, "generator": Generator().manual_seed(1)}
    return train_stacked(X, y, initial, RATES, DECAYS, **options)


@pytest.mark.parametrize(("n", "d"), [(6, 40), (12, 13), (2, 5)])
@pytest.mark.parametrize("repeated", [False, True], ids=["different rows", "repeated rows"])
def test_the_smaller_problem_has_the_same_solution(n: int, d: int, repeated: bool) -> None:
    X, y = few(n, d, 2)
    if repeated:
        X[-1] = X[0]
    X = pad(X, (0, 1), value=1)
    initial = initial_weights(d, 2, Generator().manual_seed(3)).double()
    small = small_problem(X, initial)
    left = shrinkage(RATES, DECAYS, Schedule([torch.arange(n)], 8, n).factors(), 0.9)
    found = small.restore(whole_space(small.samples, y, small.initial), left)
    assert torch.allclose(found, whole_space(X, y, initial), atol=1e-9)


def test_a_trainer_uses_it_and_nobody_notices() -> None:
    X, y = few(30, 64, 3)
    protocol = LogisticProtocol(epochs=8, batch=16)
    trainer = Trainer.load(X, y, 3, protocol, device=torch.device("cpu"), dtype=torch.float32)
    pairs = list(zip(RATES.tolist(), DECAYS.tolist(), strict=True))
    part = torch.arange(0, 30, 2)
    found = trainer.fit([part], [pairs], [Generator().manual_seed(5)])[0]
    generator = Generator().manual_seed(5)
    initial = initial_weights(64, 3, generator)
    options = {"epochs": 8, "batch": 15, "momentum": 0.9, "generator": generator}
    plain = train_stacked(pad(X[part], (0, 1), value=1).float(), y[part], initial, RATES, DECAYS, **options)
    assert torch.allclose(found, plain, atol=1e-4)
