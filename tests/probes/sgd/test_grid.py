"""Grids of linear classifiers against modules of PyTorch that are trained on the same batches."""

from collections.abc import Sequence

import pytest
import torch
from linear_grids import FOUR, modules_after
from torch import Generator, Tensor

from unseen.probes.sgd.grid import grid_bytes, train_grid
from unseen.probes.sgd.grid_protocol import Range
from unseen.probes.sgd.rows import ColumnsOf, Resident, Streamed
from unseen.probes.sgd.schedule import sample_stream
from unseen.probes.sgd.scoring import accuracies

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
RATES = (1e-3, 1e-2, 0.1, 0.4)
STEPS, BATCH, CLASSES = 60, 64, 7
CPU = torch.device("cpu")


def samples(n: int = 300, d: int = 40, *, mean: float = 0.5) -> tuple[Tensor, Tensor]:
    """Overlapping classes with means and scales that differ by column, not normalised."""
    generator = Generator().manual_seed(n)
    y = torch.arange(n) % CLASSES
    X = torch.randn(CLASSES, d, generator=generator)[y] + torch.randn(n, d, generator=generator)
    return X * torch.linspace(0.3, 3, d) + mean, y


def starts(ranges: Sequence[Range]) -> list[Tensor]:
    generator = Generator().manual_seed(1)
    return [0.01 * torch.randn(each.width, CLASSES, generator=generator) for each in ranges]


def trained(
    X: Tensor,
    y: Tensor,
    ranges: Sequence[Range] = FOUR,
    rates: Sequence[float] = RATES,
    *,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    rows: Tensor | None = None,
    streamed: bool = False,
    steps: int = STEPS,
) -> list[Tensor]:
    load = Streamed if streamed else Resident.load
    source = load(X, lambda rows: rows, device=torch.device(device), dtype=dtype, name="training")
    found = train_grid(
        source,
        y.to(device),
        torch.arange(len(X)) if rows is None else rows,
        ranges,
        starts(ranges),
        [torch.tensor(rates, dtype=torch.float64)] * len(ranges),
        steps=steps,
        batch=BATCH,
        momentum=0.9,
        generator=Generator().manual_seed(2),
        dtype=dtype,
    )
    return [each.cpu() for each in found]


def expected(X: Tensor, y: Tensor, rows: Tensor, ranges: Sequence[Range] = FOUR) -> list[Tensor]:
    batches = sample_stream(rows, STEPS, BATCH, 1, Generator().manual_seed(2), -1)
    heads = modules_after(X.double(), y, ranges, starts(ranges), RATES, batches, STEPS)
    return [
        torch.stack([torch.cat([head.weight.detach().T, head.bias.detach()[None]]) for head in row]) for row in heads
    ]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-12), (torch.float32, 5e-6), (torch.float16, 4e-3)])
@pytest.mark.parametrize("n", [300, 50])
def test_weights_are_those_of_modules(n: int, dtype: torch.dtype, error: float, device: str) -> None:
    """With more samples than a batch, and with fewer, which a batch then has more than once."""
    X, y = samples(n)
    rows = torch.arange(n)[torch.arange(n) % 5 > 0]
    found = trained(X, y, rows=rows, dtype=dtype, device=device)
    reference = expected(X.to(dtype), y, rows)
    for ours, theirs in zip(found, reference, strict=True):
        assert ours.shape == theirs.shape
        assert (ours - theirs).abs().max() <= error * theirs.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_another_run_and_another_way_to_read_give_the_same_bits(dtype: torch.dtype) -> None:
    X, y = samples()
    first = trained(X, y, dtype=dtype)
    for streamed in (False, True):
        for one, other in zip(first, trained(X, y, dtype=dtype, streamed=streamed), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_classifier_that_diverges_is_marked_and_changes_no_other(dtype: torch.dtype, device: str) -> None:
    X, y = samples()
    sound = trained(X, y, dtype=dtype, device=device)
    found = trained(X, y, rates=(*RATES[:2], 1e38, RATES[3]), dtype=dtype, device=device)
    for ours, before in zip(found, sound, strict=True):
        assert ours[2].isnan().all()
        assert torch.equal(ours[[0, 1, 3]], before[[0, 1, 3]])


def test_large_features_and_rates_stay_finite_in_16_bits() -> None:
    """Gradients of a batch exceed 65,504 here, and scores too; sums of both are in 32 bits."""
    X, y = samples(mean=100.0)
    [found] = trained(8 * X, y, [Range("all", 0, 40)], (0.4,), dtype=torch.float16)
    assert found.isfinite().all()
    assert float((8 * X).abs().sum(dim=1).max() * found.abs().max()) > 65_504


def test_a_range_is_scored_with_its_columns_and_its_bias() -> None:
    X, y = samples()
    source = Resident.load(X, lambda rows: rows, device=CPU, dtype=torch.float32, name="test")
    index = torch.arange(100, 200)
    for each, weights in zip(FOUR, trained(X, y), strict=True):
        scores = torch.einsum("nd,kdc->knc", X[index, each.columns], weights[:, :-1]) + weights[:, -1:]
        right = (scores.argmax(dim=2) == y[index]).double().mean(dim=1)
        assert torch.equal(accuracies(ColumnsOf(source, each.columns), index, y[index], weights)[0], right)


@pytest.mark.gpu
def test_memory_on_a_gpu_is_as_estimated() -> None:
    n, d, classes, batch = 4096, 384, 500, 1024
    X, y = torch.randn(n, 5 * d), torch.arange(n) % classes
    ranges = [Range("a", 3 * d, 4 * d), Range("b", 3 * d, 5 * d), Range("c", 0, 4 * d), Range("d", 0, 5 * d)]
    source = Resident.load(X, lambda rows: rows, device=torch.device("cuda"), dtype=torch.float16, name="training")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    found = train_grid(
        source,
        y.cuda(),
        torch.arange(n),
        ranges,
        [torch.zeros(each.width, classes) for each in ranges],
        [torch.linspace(1e-3, 1e-2, 13)] * 4,
        steps=20,
        batch=batch,
        momentum=0.9,
        generator=Generator().manual_seed(0),
        dtype=torch.float16,
    )
    for each, weights in zip(ranges, found, strict=True):
        accuracies(ColumnsOf(source, each.columns), torch.arange(n), y, weights)
    peak = torch.cuda.max_memory_allocated() - before
    estimate = grid_bytes([each.width for each in ranges], 13, classes, 5 * d, batch, item=2, gpu=True)
    assert 2 / 3 < peak / estimate < 3 / 2
