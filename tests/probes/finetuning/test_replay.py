"""Steps recorded on a GPU against the same steps called one by one."""

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import unseen.probes.finetuning.train
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.replay import Replay
from unseen.probes.finetuning.train import Finetuned, finetune, with_head

pytestmark = pytest.mark.gpu
CUDA = torch.device("cuda")
PROTOCOL = FinetuneProtocol("test", steps=23, batch=16, rate=0.05, decay=1e-3)
RECORDED = 3
"""Calls of a network in a training that is replayed."""


@pytest.fixture(autouse=True)
def none_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replay, "failed", False)


class Counted(nn.Module):
    """Dropout, and something else at every call, which are counted."""

    def __init__(self, other: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.other, self.calls = other, 0

    def forward(self, X: Tensor) -> Tensor:
        self.calls += 1
        return nn.functional.dropout(self.other(X), 0.2, self.training)


def network(other: Callable[[Tensor], Tensor]) -> tuple[nn.Module, Counted]:
    counted = Counted(deepcopy(other))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        body = nn.Sequential(
            *(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), counted, nn.ReLU(), nn.Conv2d(8, 16, 3)),
            *(nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        )
    return with_head(body, 16, 3, seed=1), counted


def pictures(start: int, sizes: Callable[[int], int] = lambda _: 16) -> Iterator[tuple[Tensor, Tensor]]:
    step = start
    while True:
        generator = torch.Generator().manual_seed(step)
        y = torch.randint(3, (sizes(step),), generator=generator)
        X = torch.randn(len(y), 3, 12, 12, generator=generator)
        X[torch.arange(len(y)), y] += 1
        yield X, y
        step += 1


def one_by_one(monkeypatch: pytest.MonkeyPatch, train: Callable[[], Finetuned]) -> Finetuned:
    with monkeypatch.context() as patch:
        patch.setattr(unseen.probes.finetuning.train, "Replay", lambda function, *_: function)
        return train()


def assert_alike(found: nn.Module, expected: nn.Module) -> None:
    theirs = expected.state_dict()
    for name, value in found.state_dict().items():
        torch.testing.assert_close(value, theirs[name], atol=2e-3, rtol=2e-2, msg=lambda text, n=name: f"{n}: {text}")


def test_a_replayed_training_is_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (mine, calls), (theirs, others) = network(nn.Identity()), network(nn.Identity())
    found = finetune(mine, pictures, PROTOCOL, device=CUDA, every=5)
    expected = one_by_one(monkeypatch, lambda: finetune(theirs, pictures, PROTOCOL, device=CUDA, every=5))
    assert (calls.calls, others.calls) == (RECORDED, PROTOCOL.steps)
    assert found.losses == pytest.approx(expected.losses, abs=0.005)
    assert_alike(mine, theirs)

    def stop(step: int) -> None:
        if step == 15:
            raise KeyboardInterrupt

    path = tmp_path / "checkpoint.pt"
    with pytest.raises(KeyboardInterrupt):
        finetune(network(nn.Identity())[0], pictures, PROTOCOL, device=CUDA, every=5, checkpoint=path, watch=stop)
    resumed, _ = network(nn.Identity())
    again = finetune(resumed, pictures, PROTOCOL, device=CUDA, every=5, checkpoint=path)
    assert again.losses == pytest.approx(expected.losses, abs=0.005)
    assert_alike(resumed, theirs)


def asks(X: Tensor) -> Tensor:
    return X if float(X.detach().abs().mean()) > 0 else X + 1


def waits(X: Tensor) -> Tensor:
    torch.cuda.synchronize()
    return X


def draws(X: Tensor) -> Tensor:
    return X * (1 + torch.rand(()).item())


def draws_for_python(X: Tensor) -> Tensor:
    return X * (1 + random.random())


def draws_with_numpy(X: Tensor) -> Tensor:
    return X * (1 + float(np.random.rand()))  # noqa: NPY002


class Replaces(nn.Module):
    """Keeps a running mean by putting a new tensor in place of the old."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, X: Tensor) -> Tensor:
        self.mean = 0.9 * self.mean + 0.1 * X.detach().float().mean()
        return X - self.mean


@pytest.mark.parametrize("other", [asks, waits, draws, draws_for_python, draws_with_numpy, Replaces()])
def test_what_cannot_be_recorded_is_called_every_time(
    other: Callable[[Tensor], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    (mine, calls), (theirs, _) = network(other), network(other)

    def train(model: nn.Module) -> Finetuned:
        random.seed(4)
        np.random.seed(4)  # noqa: NPY002
        return finetune(model, pictures, PROTOCOL, device=CUDA, every=5)

    stream = torch.cuda.current_stream()
    found = train(mine)
    assert torch.cuda.current_stream() == stream
    assert Replay.failed == (other is waits)
    assert calls.calls in {PROTOCOL.steps, PROTOCOL.steps + 1}  # one more where recording was tried
    expected = one_by_one(monkeypatch, lambda: train(theirs))
    assert found.losses == pytest.approx(expected.losses, abs=0.005)
    assert_alike(mine, theirs)


def test_batches_of_other_sizes_are_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(start: int) -> Iterator[tuple[Tensor, Tensor]]:
        return pictures(start, lambda step: 5 if step % 7 == 6 else 16)

    (mine, calls), (theirs, _) = network(nn.Identity()), network(nn.Identity())
    found = finetune(mine, some, PROTOCOL, device=CUDA, every=5)
    expected = one_by_one(monkeypatch, lambda: finetune(theirs, some, PROTOCOL, device=CUDA, every=5))
    assert calls.calls == RECORDED + 3
    assert found.losses == pytest.approx(expected.losses, abs=0.005)
    assert_alike(mine, theirs)
