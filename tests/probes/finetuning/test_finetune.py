"""Fine-tuning against a plain loop with PyTorch's scheduler, and killed in the middle."""

import os
import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
from alone import start_telling
from torch import Tensor, nn

from unseen.errors import UserError
from unseen.probes.finetuning.protocol import AdamWProtocol, FinetuneProtocol
from unseen.probes.finetuning.soundness import end_to_end
from unseen.probes.finetuning.train import _step, classification, finetune, predict, with_head

CPU = torch.device("cpu")
PROTOCOL = FinetuneProtocol("test", steps=23, batch=8, rate=0.05, decay=1e-3)


def network(dropout: float = 0.2) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        body = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(dropout))
    return with_head(body, 12, 3, seed=1)


def batches(start: int) -> Iterator[tuple[Tensor, Tensor]]:
    step = start
    while True:
        generator = torch.Generator().manual_seed(step)
        X = torch.randn(8, 6, generator=generator)
        yield X, (X[:, 0] > 0).long() + (X[:, 1] > 0.5).long()
        step += 1


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def equal(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("nesterov", [True, False])
def test_it_is_a_plain_loop(nesterov: bool) -> None:
    mine, plain = network(0.0), network(0.0)
    done = finetune(mine, batches, replace(PROTOCOL, nesterov=nesterov), device=CPU, every=5)
    optimiser = torch.optim.SGD(plain.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=nesterov)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=23)
    losses = []
    plain.train()
    for step, (X, y) in zip(range(23), batches(0), strict=False):
        loss = nn.functional.cross_entropy(plain(X), y)
        losses.append(float(loss.detach()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        assert PROTOCOL.rate_at(step + 1) == pytest.approx(schedule.get_last_lr()[0], abs=1e-12)
    for name, value in plain.state_dict().items():
        assert torch.allclose(mine.state_dict()[name], value, atol=1e-6), name
    assert done.finished
    assert len(done.losses) == 5
    assert done.losses[0] == pytest.approx(sum(losses[:5]) / 5, rel=1e-5)
    assert done.losses[-1] == pytest.approx(sum(losses[20:]) / 3, rel=1e-5)
    assert not mine.training


def test_adamw_is_a_plain_loop_and_resumes(tmp_path: Path) -> None:
    """With a clipped gradient and no decay of biases, against PyTorch's own optimiser and its usual rate."""
    protocol = AdamWProtocol("test", 23, 8, rate=0.01, decay=0.1, warmup=3, beta2=0.98, epsilon=1e-6, clip=0.5)
    mine, plain = network(0.0), network(0.0)
    expected = finetune(mine, batches, protocol, device=CPU, every=5)
    matrices = [each for each in plain.parameters() if each.ndim > 1]
    others = [each for each in plain.parameters() if each.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.98), eps=1e-6)
    plain.train()
    for step, (X, y) in zip(range(23), batches(0), strict=False):
        optimiser.zero_grad()
        nn.functional.cross_entropy(plain(X), y).backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
        for group in optimiser.param_groups:
            group["lr"] = protocol.rate_at(step)
        optimiser.step()
    for name, value in plain.state_dict().items():
        assert torch.allclose(mine.state_dict()[name], value, atol=1e-6), name

    def stop(step: int) -> None:
        if step == 15:
            raise KeyboardInterrupt

    path = tmp_path / "checkpoint.pt"
    with pytest.raises(KeyboardInterrupt):
        finetune(network(0.0), batches, protocol, device=CPU, every=5, checkpoint=path, watch=stop)
    resumed = network(0.0)
    assert finetune(resumed, batches, protocol, device=CPU, every=5, checkpoint=path) == expected
    assert equal(weights(resumed), weights(mine))


def test_warm_up_grows_to_the_rate() -> None:
    protocol = replace(PROTOCOL, steps=10, warmup=4, rate=1.0)
    rates = [protocol.rate_at(step) for step in range(10)]
    assert rates[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert 0 < rates[-1] < 0.1


def test_stopped_and_resumed_it_has_the_same_weights(tmp_path: Path) -> None:
    whole = network()
    expected = finetune(whole, batches, PROTOCOL, device=CPU, every=5)
    path = tmp_path / "checkpoint.pt"

    def stop(step: int) -> None:
        if step == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # after the steps to 15, before they are saved: 10 is what is on disk
        finetune(network(), batches, PROTOCOL, device=CPU, every=5, checkpoint=path, watch=stop)
    seen = []

    def counted(start: int) -> Iterator[tuple[Tensor, Tensor]]:
        seen.append(start)
        return batches(start)

    torch.manual_seed(99)  # the state of the caller's generator makes no difference
    resumed = network()
    assert finetune(resumed, counted, PROTOCOL, device=CPU, every=5, checkpoint=path) == expected
    assert seen == [10]
    assert equal(weights(resumed), weights(whole))
    again = network()
    assert finetune(again, batches, PROTOCOL, device=CPU, every=5, checkpoint=path) == expected
    assert equal(weights(again), weights(whole))


def test_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    finetune(network(), batches, PROTOCOL, device=CPU)
    assert torch.equal(torch.rand(3), expected)


LONG = replace(PROTOCOL, steps=200)


def finetune_slowly(path: Path, tell: Connection) -> None:
    def watch(step: int) -> None:
        tell.send(step)
        time.sleep(0.05)

    finetune(network(), batches, LONG, device=CPU, every=10, checkpoint=path, watch=watch)


def test_killed_at_any_moment_it_ends_with_the_same_weights(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    process, told = start_telling(finetune_slowly, path)
    assert told.recv() == 10
    time.sleep(0.33)
    assert process.is_alive()
    process.kill()
    process.join()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole, resumed = network(), network()
        finetune(whole, batches, LONG, device=CPU, every=10)
        rest: list[int] = []
        finetune(resumed, batches, LONG, device=CPU, every=10, checkpoint=path, watch=rest.append)
    finally:
        torch.set_num_threads(threads)
    assert 20 <= rest[0] < 200
    assert equal(weights(resumed), weights(whole))


def test_checkpoints_of_others_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    short = replace(PROTOCOL, steps=2)
    finetune(network(), batches, short, device=CPU, checkpoint=path, identity="a")
    with pytest.raises(UserError, match="another fine-tuning"):
        finetune(network(), batches, short, device=CPU, checkpoint=path, identity="b")
    with pytest.raises(UserError, match="another fine-tuning"):
        finetune(network(), batches, replace(short, rate=0.1), device=CPU, checkpoint=path, identity="a")
    with pytest.raises(UserError, match="another fine-tuning"):
        finetune(network(), batches, short, device=CPU, seed=1, checkpoint=path, identity="a")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match="damaged checkpoint"):
        finetune(network(), batches, short, device=CPU, checkpoint=path, identity="a")


def test_a_checkpoint_cannot_run_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "owned"),)

    path = tmp_path / "checkpoint.pt"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(UserError, match="damaged checkpoint"):
        finetune(network(), batches, PROTOCOL, device=CPU, checkpoint=path)
    assert not (tmp_path / "owned").exists()


def test_divergence_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    model = nn.Linear(6, 3)
    done = finetune(model, batches, replace(PROTOCOL, rate=1e30, steps=500), device=CPU, every=10, checkpoint=path)
    assert not done.finished
    assert len(done.losses) < 50
    assert all(map(isfinite, done.losses))


def test_weights_that_are_not_finite_at_the_end_are_a_divergence(tmp_path: Path) -> None:
    """The last update may spoil the weights, after its loss; a checkpoint of such weights makes no difference."""
    for _ in range(2):
        model = nn.Linear(6, 3)
        model.weight.register_hook(lambda gradient: gradient * torch.inf)
        done = finetune(model, batches, replace(PROTOCOL, steps=1), device=CPU, checkpoint=tmp_path / "checkpoint.pt")
        assert len(done.losses) == 1
        assert not model.weight.isfinite().all()
        assert not done.finished


class Loud(nn.Module):
    """A linear network whose loss is infinite for an input that begins with 1, though its gradients are finite."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 3)

    def forward(self, X: Tensor) -> Tensor:
        return self.linear(X) + X[:, :1].eq(1) * torch.tensor([-3e38, 0.0, 3e38])


def loud_network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Loud()


def test_a_loss_that_is_not_finite_for_once_is_no_divergence(tmp_path: Path) -> None:
    loud, path = {3, 12}, tmp_path / "checkpoint.pt"

    def some(start: int) -> Iterator[tuple[Tensor, Tensor]]:
        for step, (X, y) in enumerate(batches(start), start=start):
            yield torch.ones_like(X) if step in loud else X, y.clamp(max=1)

    model, plain = loud_network(), loud_network()
    done = finetune(model, some, PROTOCOL, device=CPU, every=5)
    assert done.finished
    assert done.skipped == 2
    optimiser = torch.optim.SGD(plain.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=23)
    losses = []
    for _, (X, y) in zip(range(23), some(0), strict=False):
        loss = nn.functional.cross_entropy(plain(X), y)
        losses.append(float(loss.detach()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    finite = [[loss for loss in losses[start : start + 5] if isfinite(loss)] for start in range(0, 23, 5)]
    assert list(map(len, finite)) == [4, 5, 4, 5, 3]
    assert done.losses == pytest.approx([sum(part) / len(part) for part in finite], rel=1e-5)

    def stop(step: int) -> None:
        if step == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finetune(loud_network(), some, PROTOCOL, device=CPU, every=5, checkpoint=path, watch=stop)
    assert finetune(loud_network(), some, PROTOCOL, device=CPU, every=5, checkpoint=path) == done
    loud = {14}  # the last before a check
    assert not finetune(loud_network(), some, PROTOCOL, device=CPU, every=5).finished


def test_numbers_that_overflow_16_bits_leave_weights_and_statistics_alone() -> None:
    model = network(0.0).train()
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    statistics = end_to_end(model.buffers())
    X, y = next(batches(0))
    before = weights(model)
    loss = _step(model, classification, optimiser, scaler, statistics, 0.0, 1e6 * X, y)
    assert not loss.isfinite()
    kept = {name for name, value in weights(model).items() if torch.equal(value, before[name])}
    assert {name for name in before if name not in kept} <= {"0.1.num_batches_tracked"}
    assert _step(model, classification, optimiser, scaler, statistics, 0.0, X, y).isfinite()
    assert all(value.isfinite().all() for value in weights(model).values())
    changed = {name for name, value in weights(model).items() if not torch.equal(value, before[name])}
    assert changed == set(before)


@pytest.mark.parametrize(
    "change", [{"steps": 0}, {"batch": 0}, {"rate": 0.0}, {"decay": -1.0}, {"momentum": 1.0}, {"warmup": 23}]
)
def test_nonsense_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(UserError, match="fine-tuning needs"):
        finetune(network(), batches, replace(PROTOCOL, **change), device=CPU)


def test_a_network_without_parameters_is_refused() -> None:
    with pytest.raises(UserError, match="no parameters to train"):
        finetune(nn.Flatten(), batches, PROTOCOL, device=CPU)
    with pytest.raises(UserError, match="no images to test"):
        predict(nn.Flatten(), [], device=CPU)


def test_the_head_depends_on_its_seed_and_predictions_on_nothing_random() -> None:
    one, same = with_head(nn.Identity(), 4, 2, seed=0), with_head(nn.Identity(), 4, 2, seed=0)
    other = with_head(nn.Identity(), 4, 2, seed=1)
    assert equal(weights(one), weights(same))
    assert not equal(weights(one), weights(other))
    model = network()
    X = torch.randn(10, 6)
    parts = predict(model, torch.split(X, 3), device=CPU)
    assert torch.allclose(parts, model.eval()(X), atol=1e-6)


CUDA = torch.device("cuda")
LOUD = 7
"""A step whose pictures are too bright for 16 bits, where that is asked for."""


def convolutions() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        body = nn.Sequential(
            *(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()),
            *(nn.Conv2d(8, 8, 3, groups=8), nn.BatchNorm2d(8), nn.ReLU()),  # a side of length 1 among the weights
            *(nn.Conv2d(8, 16, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        )
    return with_head(body, 16, 3, seed=1)


def pictures(start: int, loud: int | None = None) -> Iterator[tuple[Tensor, Tensor]]:
    step = start
    while True:
        generator = torch.Generator().manual_seed(step)
        y = torch.randint(3, (16,), generator=generator)
        X = torch.randn(16, 3, 12, 12, generator=generator)
        X[torch.arange(16), y] += 1
        yield (1e6 * X if step == loud else X), y
        step += 1


ADAM = AdamWProtocol("test", steps=23, batch=8, rate=0.01, decay=0.1, warmup=3, clip=1.0)


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", [PROTOCOL, ADAM])
def test_on_a_gpu_losses_are_those_of_the_cpu(protocol: FinetuneProtocol) -> None:
    here, there = convolutions(), convolutions()
    expected = finetune(here, pictures, protocol, device=CPU, every=5)
    found = finetune(there, pictures, protocol, device=CUDA, every=5)
    assert found.finished
    assert found.skipped == 0
    assert found.losses == pytest.approx(expected.losses, abs=0.05)
    X, _ = next(pictures(99))
    torch.testing.assert_close(predict(there, [X], device=CUDA), predict(here, [X], device=CPU), atol=0.2, rtol=0.1)


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", [PROTOCOL, ADAM])
def test_on_a_gpu_it_goes_on_from_a_checkpoint(protocol: FinetuneProtocol, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"

    def stop(step: int) -> None:
        if step == 15:
            raise KeyboardInterrupt

    expected = finetune(convolutions(), pictures, protocol, device=CUDA, every=5)
    with pytest.raises(KeyboardInterrupt):
        finetune(convolutions(), pictures, protocol, device=CUDA, every=5, checkpoint=path, watch=stop)
    assert torch.load(path, weights_only=True)["step"] == 10
    rest: list[int] = []
    model = convolutions()
    found = finetune(model, pictures, protocol, device=CUDA, every=5, checkpoint=path, watch=rest.append)
    assert rest == [15, 20, 23]
    assert found.losses == pytest.approx(expected.losses, abs=0.01)
    assert all(p.is_contiguous(memory_format=torch.channels_last) for p in model.parameters() if p.ndim == 4)


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", [PROTOCOL, ADAM])
@pytest.mark.parametrize("loud", [0, LOUD])
def test_on_a_gpu_an_overflow_is_passed_over(protocol: FinetuneProtocol, loud: int) -> None:
    model = convolutions()
    done = finetune(model, lambda start: pictures(start, loud), protocol, device=CUDA, every=5)
    assert done.finished
    assert done.skipped == 1
    assert all(value.isfinite().all() for value in weights(model).values())
    X, y = next(pictures(99))
    scores = predict(model, [X], device=CUDA)
    assert (scores.argmax(dim=1) == y).float().mean() > 0.6


@pytest.mark.gpu
def test_on_a_gpu_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3), torch.rand(3, device=CUDA)
    torch.manual_seed(5)
    finetune(convolutions(), pictures, replace(PROTOCOL, steps=6), device=CUDA)
    assert torch.equal(torch.rand(3), expected[0])
    assert torch.equal(torch.rand(3, device=CUDA), expected[1])
