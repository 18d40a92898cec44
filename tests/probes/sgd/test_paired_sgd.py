"""Two steps at a time are the same as single steps."""

from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize, pad

from unseen.probes.protocol import COG_V2
from unseen.probes.sgd import trainer as trainer_module
from unseen.probes.sgd.kernels.softmax_gradient import WIDEST
from unseen.probes.sgd.memory import SweepSize, fitting_trials
from unseen.probes.sgd.paired import train_paired
from unseen.probes.sgd.rows import Resident
from unseen.probes.sgd.schedule import Schedule
from unseen.probes.sgd.stacked import initial_weights, train_stacked
from unseen.probes.sgd.trainer import Trainer

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def problem(n: int, d: int, classes: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """(n, d + 1) features with their 1, and labels."""
    generator = Generator().manual_seed(n + d)
    y = torch.arange(n) % classes
    X = torch.randn(classes, d, generator=generator)[y] + torch.randn(n, d, generator=generator)
    return pad(normalize(X.to(dtype), dim=1), (0, 1), value=1), y


def source(X: Tensor, device: str, *, apart: bool) -> Resident:
    """Rows padded for 16 bits; the column of ones named as the bias or not."""
    d = X.shape[1] - 1
    wide = pad(X, (0, (7 - d) % 8, 0, 1)) if X.dtype == torch.float16 else pad(X, (0, 0, 0, 1))
    return Resident(wide.to(device), d if apart else None)


def both(
    X: Tensor,
    y: Tensor,
    parts: list[Tensor],
    rates: list[float],
    *,
    batch: int,
    device: str,
    apart: bool,
    epochs: int = 6,
) -> tuple[Tensor, list[Tensor]]:
    """Trained in pairs of steps, all problems together; and step by step in double precision, one by one."""
    s, (_, d), classes = len(parts), X.shape, int(y.max()) + 1
    initial = torch.stack([initial_weights(d - 1, classes, Generator().manual_seed(i)) for i in range(s)])
    all_rates = torch.tensor(rates, dtype=torch.float64) * (1 + 0.1 * torch.arange(s, dtype=torch.float64)[:, None])
    decays = torch.logspace(-7, -3, len(rates), dtype=torch.float64).expand(s, -1)
    found = train_paired(
        source(X, device, apart=apart),
        y.to(device),
        Schedule(parts, epochs, batch),
        initial,
        all_rates,
        decays,
        momentum=0.9,
        generators=[Generator().manual_seed(7 + i) for i in range(s)],
        dtype=X.dtype,
    )
    single = [
        train_stacked(
            X[part].double(),
            y[part],
            initial[i].double(),
            all_rates[i],
            decays[i],
            epochs=epochs,
            batch=batch,
            momentum=0.9,
            generator=Generator().manual_seed(7 + i),
        )
        for i, part in enumerate(parts)
    ]
    return found.cpu(), single


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("apart", [True, False], ids=["bias apart", "bias inside"])
@pytest.mark.parametrize(
    ("n", "d", "classes", "batch", "problems"),
    [
        (100, 8, 3, 32, 1),
        (96, 16, 3, 32, 2),
        (50, 40, 5, 1024, 3),
        (7, 3, 2, 2, 2),
        (60, 1, 4, 16, 1),
        (33, 5, 2, 32, 1),
    ],
    ids=["partial batch", "even batches", "one batch", "tiny", "one dimension", "batch of one left"],
)
def test_weights_equal_single_steps(
    device: str, apart: bool, n: int, d: int, classes: int, batch: int, problems: int
) -> None:
    X, y = problem(n, d, classes, torch.float64)
    # Where an epoch is one batch, problems may differ in size.
    parts = [
        torch.randperm(n, generator=Generator().manual_seed(i))[: n - (i if batch > n else 0)] for i in range(problems)
    ]
    found, single = both(X, y, parts, [0.1, 10.0, 100.0], batch=batch, device=device, apart=apart)
    for ours, theirs in zip(found, single, strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, float(theirs.abs().max())))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float16, 2e-3)])
def test_rounding_stays_small(device: str, dtype: torch.dtype, tolerance: float) -> None:
    X, y = problem(500, 32, 10, dtype)
    parts = [torch.randperm(500, generator=Generator().manual_seed(i)) for i in range(2)]
    found, single = both(X, y, parts, [0.1, 1.0, 5.0], batch=128, device=device, apart=True, epochs=20)
    assert found.dtype == torch.float32
    for ours, theirs in zip(found, single, strict=True):
        for trial, reference in zip(ours, theirs, strict=True):
            assert float((trial - reference).norm() / reference.norm()) < tolerance


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_trial_that_diverges_stops_and_leaves_the_others_alone(device: str, dtype: torch.dtype) -> None:
    X, y = problem(40, 8, 3, dtype)
    initial = initial_weights(8, 3, Generator().manual_seed(1)).expand(2, -1, -1)

    def train(rates: list[list[float]], decays: list[list[float]], *, epochs: int = 300, mark: bool = False) -> Tensor:
        # Many chunks of steps, so that those left are looked for.
        return train_paired(
            source(X, device, apart=True),
            y.to(device),
            Schedule([torch.arange(40)] * 2, epochs, 16),
            initial,
            torch.tensor(rates, dtype=torch.float64),
            torch.tensor(decays, dtype=torch.float64),
            momentum=0.9,
            generators=[Generator().manual_seed(7 + i) for i in range(2)],
            dtype=dtype,
            mark_diverged=mark,
        ).cpu()

    alone = train([[0.5], [0.2]], [[0.0], [0.0]])
    rates, decays = [[1e30, 0.5, 1e30], [0.2, 1e30, 0.5]], [[1e9, 0.0, 1e9], [0.0, 1e9, 0.0]]
    mixed = train(rates, decays)
    assert mixed.isfinite().all()
    assert torch.allclose(mixed[0, 1], alone[0, 0], atol=2e-3)
    assert torch.allclose(mixed[1, 0], alone[1, 0], atol=2e-3)
    everything = train([[1e30], [1e30]], [[1e9], [1e9]])
    assert everything.isfinite().all()
    for epochs in (300, 1):  # before and after those left are looked for
        plain, marked = (train(rates, decays, epochs=epochs, mark=mark) for mark in (False, True))
        for problem_, trial, sound in (
            (0, 0, False),
            (0, 1, True),
            (0, 2, False),
            (1, 0, True),
            (1, 1, False),
            (1, 2, True),
        ):
            found = marked[problem_, trial]
            assert torch.equal(found, plain[problem_, trial]) if sound else found.isnan().all()
    assert train([[1e30], [1e30]], [[1e9], [1e9]], mark=True).isnan().all()


@pytest.mark.gpu
def test_the_memory_stated_is_not_exceeded() -> None:
    n, d, classes, k, s = 5000, 256, 100, 7, 2
    X, y = problem(n, d, classes, torch.float16)
    rows = source(X, "cuda", apart=True)
    labels = y.cuda()
    initial = initial_weights(d, classes, Generator().manual_seed(1)).expand(s, -1, -1)
    rates = torch.ones(s, k, dtype=torch.float64)
    for _ in range(2):  # the first run also loads the library of products
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        train_paired(
            rows, labels, Schedule([torch.arange(n)] * s, 3, 1024), initial, rates, rates * 0, momentum=0.9,
            generators=[Generator().manual_seed(i) for i in range(s)],
        )  # fmt: skip
    assert torch.cuda.max_memory_allocated() - before <= SweepSize(s, k, classes, d + 8).bytes + (64 << 20)


def test_fitting_trials_is_the_most_that_fit() -> None:
    size = SweepSize(1, 1, 1000, 2056)
    free = 10 << 30
    most = fitting_trials(size, free)
    assert SweepSize(1, most, 1000, 2056).bytes <= free < SweepSize(1, most + 1, 1000, 2056).bytes
    assert fitting_trials(size, 1000) == 0


def test_more_classes_than_the_kernel_takes_need_more_memory_for_their_scores() -> None:
    at, above = (SweepSize(1, 1, classes, 64, rows=1024).bytes for classes in (WIDEST, WIDEST + 1))
    assert above - at > 4 * 3 * 1024 * WIDEST  # three copies in 32 bits


def test_trials_in_parts_leave_room_for_the_weights_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    y = torch.arange(1000).repeat(2)
    trainer = Trainer.load(torch.rand(2000, 512), y, 1000, COG_V2, device=torch.device("cpu"), dtype=torch.float16)
    size = SweepSize(1, 1, 1000, 512, 1024)
    parts, weights = [torch.arange(2000)], 4 * 1000 * 513
    found = set()
    for free in range(250 << 20, 900 << 20, 50 << 20):
        monkeypatch.setattr(trainer_module, "free_bytes", lambda _, free=free: free)
        most = trainer._most_trials(parts, 30)
        assert replace(size, trials=min(most, 30)).bytes + (2 * 30 * weights if most < 30 else 0) <= free
        found.add(most >= 30)
    assert found == {False, True}
