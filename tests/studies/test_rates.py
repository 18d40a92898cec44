"""What estimates rest on: speeds measured on this machine, and jobs shared out among workers."""

import time
from dataclasses import replace

import pytest
import torch

from unseen.probes.probe import Size
from unseen.probes.protocol import COG_V2_SHORT
from unseen.probes.sgd import trainer
from unseen.studies import rates
from unseen.studies.rates import elapsed, product_rate, regression_speed, starting

CPU, REAL = torch.device("cpu"), torch.Generator


def test_a_rate_is_flops_over_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 4.0, 10.0, 12.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    # The better of two: 2 × 3 × 5 × 7 flops in two seconds.
    assert product_rate((3, 5, 7), "tf32") == 105
    assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == (threads, precision)


def test_a_gpu_is_timed_without_its_setting_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that takes half a second, and a hundredth for each epoch: its rate is that of the epochs."""
    clock = [0.0]

    def fit(self: trainer.Trainer, *_: object) -> list[torch.Tensor]:
        clock[0] += 0.5 + 0.01 * self.protocol.epochs
        return [torch.zeros(1)]

    class Device:
        type = "cuda"

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(trainer.Trainer, "fit", fit)
    load = trainer.Trainer.load
    monkeypatch.setattr(
        trainer.Trainer, "load", lambda *arguments, device, dtype: load(*arguments, device=CPU, dtype=torch.float32)
    )
    monkeypatch.setattr(torch, "randn", lambda *shape, **_: torch.ones(*shape))
    monkeypatch.setattr(torch, "Generator", lambda *_: REAL())
    monkeypatch.setattr(rates, "default_device", Device)
    speed = regression_speed(replace(COG_V2_SHORT, round_size=5), Size(500, 50, 4, (8,)))
    assert speed.rate == pytest.approx(4 * 500 * 9 * 4 * 5 / 0.01)
    assert speed.setup == pytest.approx(0.5)


def test_workers_take_the_next_job_when_they_have_done_one() -> None:
    assert elapsed([], 3) == 0
    assert elapsed([5.0], 4) == 5  # one job is not divided among workers
    assert elapsed([3.0, 1.0, 1.0, 1.0], 2) == 3
    assert elapsed([1.0, 1.0, 1.0, 3.0], 2) == 4  # the long one begins last
    assert (starting(1, 4, gpu=False), starting(4, 1, gpu=False), starting(4, 4, gpu=True)) == (0, 0, 0)
    assert starting(2, 2, gpu=False) == rates.STARTING
