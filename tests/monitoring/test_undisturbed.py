"""A training with a monitor is the training without it, to the bit."""

# ruff: noqa: NPY002  (trainings draw from NumPy's global generator)

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from small_training import SIDE, pictures, small, study_of, trained
from torch import Tensor, nn

import unseen
from unseen.monitoring.undisturbed import undisturbed


@pytest.mark.parametrize("probes", [("knn",), pytest.param(("logistic", "linear"), marks=pytest.mark.long_suite)])
def test_training_gives_the_same_weights(tmp_path: Path, probes: tuple[str, ...]) -> None:
    study = study_of(pictures(tmp_path / "data"), *probes)
    without = trained(small(), 5)
    network = small()
    network.encoder[1].eval()  # a frozen layer stays frozen
    frozen = trained(network, 5)
    for expected, mode in ((without, True), (frozen, False)):
        network = small()
        network.encoder[1].train(mode)
        monitor = unseen.Monitor(study, every=2, out=tmp_path / f"monitor-{mode}", transform=SIDE)
        modes = [each.training for each in network.modules()]
        found = trained(network, 5, lambda step: monitor(step, network))  # noqa: B023
        assert torch.equal(found, expected)
        assert [each.training for each in network.modules()] == modes
        assert [*monitor.checks] == [0, 2, 4]
        assert all(check.scores and not check.failures for check in monitor.checks.values())
    assert not torch.equal(without, frozen)


def steps_under_autocast(monitor: unseen.Monitor | None) -> list[Tensor]:
    """Weights and gradients of trainings with a check before the forward pass, and between both passes."""
    network = small()
    torch.manual_seed(0)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    for step in range(2):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            if monitor is not None and step == 1:
                monitor.check(10 + step, network)
            scores = network(torch.randn(8, 3, SIDE, SIDE))
            if monitor is not None:
                monitor.check(step, network)
            loss = nn.functional.cross_entropy(scores, torch.arange(8) % 3)
        assert scores.dtype == torch.bfloat16
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return [*network.state_dict().values(), *(each.grad for each in network.parameters() if each.grad is not None)]


def test_checks_inside_autocast(tmp_path: Path) -> None:
    """Also if features are computed under autocast, which keeps weights that it casts for a later pass."""
    study = study_of(pictures(tmp_path / "data"), precision="bfloat")
    monitor = unseen.Monitor(study, every=1, out=tmp_path / "monitor", transform=SIDE)
    expected, found = steps_under_autocast(None), steps_under_autocast(monitor)
    assert len(found) == len(expected)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert [*monitor.checks] == [0, 1, 11]
    plain = small()
    again = unseen.Monitor(study_of(tmp_path / "data"), every=1, out=tmp_path / "again", transform=SIDE)
    check = again.check(0, plain)
    assert check is not None
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
        inside = again.check(1, plain)
    assert inside is not None
    assert inside.means == check.means  # features are not those of autocast


class Restless(nn.Module):
    """Writes into one buffer, and replaces another, in evaluation mode too; `eval()` itself would change it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("last", torch.zeros(2))
        self.weight = nn.Parameter(torch.ones(3, 4))
        self.evaluated = 0

    def train(self, mode: bool = True) -> "Restless":
        self.evaluated += not mode
        return super().train(mode)

    def forward(self, images: Tensor) -> Tensor:
        assert not self.training
        self.calls += 1  # type: ignore[operator, misc]
        self.last = images.mean() * torch.ones(2)
        random.random()
        np.random.rand()
        return images.mean(dim=(2, 3)) @ self.weight + torch.rand(1)


@contextmanager
def unusual_settings() -> Iterator[None]:
    """A training with everything set otherwise."""
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("medium")
    torch.set_deterministic_debug_mode(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")
        torch.set_deterministic_debug_mode(0)


def test_everything_else_is_restored(tmp_path: Path) -> None:
    network = Restless()
    calls, last = network.calls, network.last
    network.weight.grad = torch.ones(3, 4)
    gradient = network.weight.grad
    with unusual_settings():
        states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
        monitor = unseen.Monitor(study_of(pictures(tmp_path / "data")), every=1, out=tmp_path / "out", transform=SIDE)
        check = monitor(0, network)
        assert check is not None
        assert not check.failures
        assert torch.get_default_dtype() == torch.float64
        assert torch.get_float32_matmul_precision() == "medium"
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert not torch.is_grad_enabled()
        assert states == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
    assert network.calls is calls
    assert network.last is last
    assert calls.item() == 0
    assert last.tolist() == [0, 0]
    assert network.training
    assert network.evaluated == 0
    assert network.weight.grad is gradient
    assert torch.equal(gradient, torch.ones(3, 4))


def test_restored_also_after_an_error() -> None:
    network = small()
    network.encoder[3].eval()
    state = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), undisturbed([network]):
        assert not network.training
        torch.rand(3)
        raise ZeroDivisionError
    assert [network.training, network.encoder[3].training] == [True, False]
    assert torch.equal(state, torch.get_rng_state())


class Writing(nn.Module):
    """Registers buffers, and writes into others in every way, in the forward pass."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("plain", "through_data", "unknown", "removed"):
            self.register_buffer(name, torch.full((3,), torch.nan if name == "unknown" else 1.0))
        self.register_buffer("none", None)
        self.register_buffer("temporary", torch.ones(1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        self.register_buffer("new", images.mean((0, 1, 2, 3)))
        self.register_buffer("temporary", torch.zeros(1))
        self.register_buffer("none", torch.zeros(1), persistent=False)
        self.plain += 1  # type: ignore[operator, misc]
        self.through_data.data.mul_(2)  # type: ignore[union-attr, operator]
        self._buffers.pop("removed", None)
        return images.mean((2, 3))


def test_buffers_are_restored(tmp_path: Path) -> None:
    network = Writing()
    before = {name: each if each is None else each.clone() for name, each in network._buffers.items()}
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * network.through_data * network.unknown).sum()  # whose backward pass needs these buffers
    monitor = unseen.Monitor(study_of(pictures(tmp_path / "data")), every=1, out=tmp_path / "out", transform=SIDE)
    check = monitor(0, network)
    assert check is not None
    assert not check.failures
    loss.backward()
    assert [*network._buffers] == [*before]
    assert [*network.state_dict()] == ["plain", "through_data", "unknown", "removed"]
    for name, each in network._buffers.items():
        assert (each is None) == (before[name] is None)
        if each is not None:
            assert torch.equal(each.nan_to_num(7), before[name].nan_to_num(7)), name  # type: ignore[union-attr]


@pytest.mark.gpu
def test_training_on_a_gpu_gives_the_same_weights(tmp_path: Path) -> None:
    """With Dropout, which draws on the GPU, and with gradients that are scaled under autocast."""
    monitor = unseen.Monitor(study_of(pictures(tmp_path / "data")), every=2, out=tmp_path / "out", transform=SIDE)
    found = []
    for monitored in (False, True):
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Flatten(), nn.Linear(3 * SIDE**2, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 3)
        ).cuda()
        optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        for step in range(6):
            with torch.autocast("cuda", dtype=torch.float16):
                scores = network(torch.randn(16, 3, SIDE, SIDE, device="cuda"))
                if monitored:
                    monitor(step, network)
                loss = nn.functional.cross_entropy(scores, torch.randint(3, (16,), device="cuda"))
            optimiser.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimiser)
            scaler.update()
        found.append([each.cpu() for each in network.state_dict().values()])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    assert [*monitor.checks] == [0, 2, 4]
    assert all(not check.failures for check in monitor.checks.values())
