"""Fine-tuning against a plain loop with PyTorch's scheduler, and killed in the middle."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from unseen.errors import UserError
from unseen.probes.finetune import FinetuneProtocol, finetune, predict, with_head

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
SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
from test_finetune import CPU, LONG, batches, network, finetune
def watch(step):
    print(step, flush=True)
    time.sleep(0.05)
finetune(network(), batches, LONG, device=CPU, every=10, checkpoint=Path(sys.argv[2]), watch=watch)
"""


def test_killed_at_any_moment_it_ends_with_the_same_weights(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "10\n"
    time.sleep(0.33)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
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
