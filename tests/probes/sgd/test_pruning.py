"""Trials that stop early: who goes on, against training all of them and applying the rule afterwards."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import normalize, pad

from unseen.errors import UserError
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.by_name.mlp import MLP
from unseen.probes.logistic import LogisticResult, Setting, probe_logistic, probe_settings
from unseen.probes.probe import Size
from unseen.probes.protocol import COG_V2, COG_V2_PRUNED, LogisticProtocol, PrunedProtocol
from unseen.probes.sampling import draw_shots, split_validation, stream
from unseen.probes.sgd.paired import train_paired
from unseen.probes.sgd.pruning import Race, Stops, still_running
from unseen.probes.sgd.rows import Resident
from unseen.probes.sgd.schedule import Schedule, epoch_orders
from unseen.probes.sgd.search import Search
from unseen.probes.sgd.stacked import initial_weights, train_stacked
from unseen.probes.sgd.trainer import Trainer

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
SMALL = PrunedProtocol(
    name="small", epochs=20, trials=12, round_size=12, batch=64, rates=(1e-1, 5.0),
    cut_epochs=(4, 10), late_cut_epochs=(4, 10), survivors=(5, 2), least_steps=1,
)  # fmt: skip
"""At greater rates rounding grows to be seen."""


def problem(classes: int = 6, d: int = 12, train: int = 30, test: int = 20, noise: float = 1.3) -> tuple[Tensor, ...]:
    generator = Generator().manual_seed(classes)
    centres = torch.randn(classes, d, generator=generator)
    parts = []
    for each in (train, test):
        y = torch.arange(classes).repeat(each)
        parts += [centres[y] + noise * torch.randn(len(y), d, generator=generator), y]
    return tuple(parts)


def plain_scores(
    part: tuple[Tensor, Tensor], held: tuple[Tensor, Tensor], rate: float, decay: float, seed: int
) -> dict[int, float]:
    """Validation accuracy of one classifier by `torch.optim.SGD` after 4, 10 and all epochs."""
    (X, y), generator = part, stream(seed, 2)
    initial = initial_weights(X.shape[1], int(y.max()) + 1, generator)
    model = nn.Linear(X.shape[1], int(y.max()) + 1)
    with torch.no_grad():
        model.weight.copy_(initial[:-1].T)
        model.bias.copy_(initial[-1])
    optimiser = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=decay)
    found = {}
    orders = (order for block in epoch_orders(len(X), SMALL.epochs, generator) for order in block.draw())
    for epoch, order in enumerate(orders, start=1):
        for chosen in order.split(min(SMALL.batch, len(X))):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(X[chosen]), y[chosen]).backward()
            optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * (epoch - 1) / SMALL.epochs))
        found[epoch] = float((model(held[0]).argmax(1) == held[1]).double().mean())
    return found


@pytest.mark.parametrize(("shots", "products"), [(None, torch.float32), (1, torch.float32), (None, torch.float16)])
def test_survivors_and_winner_are_those_of_training_all(shots: int | None, products: torch.dtype) -> None:
    X, y, X_test, y_test = problem()
    seed = 3
    found = probe_logistic(X, y, X_test, y_test, protocol=SMALL, shots=shots, seed=seed, products=products)
    unit = normalize(X, dim=1)
    part, held = split_validation(y, 0.2, stream(seed, 0))
    part = part[draw_shots(y[part], shots, stream(seed, 1))] if shots else part
    parts = (unit[part], y[part]), (unit[held], y[held])
    plain = [plain_scores(*parts, trial.rate, trial.decay, seed) for trial in found.trials]
    running = list(range(12))
    for epoch, survivors in ((4, 5), (10, 2)):
        best = sorted(sorted(running, key=lambda trial: -plain[trial][epoch])[:survivors])
        assert [i for i, trial in enumerate(found.trials) if trial.stopped == epoch] == sorted({*running} - {*best})
        running = best
    assert [i for i, trial in enumerate(found.trials) if trial.stopped is None] == running
    assert [trial.score for trial in found.trials] == pytest.approx(
        [scores[trial.stopped or SMALL.epochs] for trial, scores in zip(found.trials, plain, strict=True)], abs=1e-9
    )
    winner = found.trials[max(running, key=lambda trial: plain[trial][20])]
    assert (found.rate, found.decay) == (winner.rate, winner.decay)
    whole = LogisticProtocol(epochs=20, trials=1, batch=64, rates=(winner.rate,) * 2, decays=(winner.decay,) * 2)
    alone = probe_logistic(X, y, X_test, y_test, protocol=whole, shots=shots, seed=seed, products=products)
    assert found.top1 == alone.top1  # the final fit is the usual one


def test_pairs_are_random_and_begin_with_those_of_the_whole_protocol() -> None:
    X, y, X_test, y_test = problem(classes=3, train=10, test=2)
    quick = {"epochs": 2, "batch": 8}
    pruned, whole = (
        probe_logistic(X, y, X_test, y_test, protocol=replace(protocol, **quick), seed=1).trials
        for protocol in (COG_V2_PRUNED, replace(COG_V2, trials=10))
    )
    assert len(pruned) == 30
    assert [(t.rate, t.decay) for t in pruned[:10]] == [(t.rate, t.decay) for t in whole]
    assert len({t.rate for t in pruned}) == 30
    later = [math.log10(t.rate) for t in pruned[10:]]
    assert min(later) < 0
    assert max(later) > 1.5


def test_where_epochs_are_of_few_steps_the_search_is_the_whole_protocols() -> None:
    data = problem(classes=3, train=10, test=2)
    protocols = (replace(protocol, epochs=4, batch=8) for protocol in (COG_V2_PRUNED, COG_V2))
    pruned, whole = (dict(probe_settings(*data, [Setting(4), Setting()], protocol=each)) for each in protocols)
    assert pruned[Setting(4)].trials == whole[Setting(4)].trials  # 2 steps
    assert pruned[Setting()].trials != whole[Setting()].trials  # 3 steps
    cuts = {steps: COG_V2_PRUNED.for_steps(steps).cuts for steps in (2, 3, 15, 16)}
    late, soon = ((20, 12), (50, 4)), ((10, 12), (30, 4))
    assert cuts == {2: (), 3: late, 15: late, 16: soon}


def test_the_same_where_not_all_trials_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    data = problem()
    settings = [Setting(None, 0), Setting(1, 0)]

    def results() -> dict[Setting, LogisticResult]:
        return dict(probe_settings(*data, settings, protocol=SMALL))

    together = results()
    monkeypatch.setattr(Trainer, "_most_trials", lambda self, parts, trials: min(trials, 4))
    for setting, found in results().items():
        assert found.trials == together[setting].trials
        assert found.top1 == together[setting].top1


@pytest.mark.parametrize("device", DEVICES)
def test_pairs_of_steps_with_stops_and_divergence(device: str) -> None:
    """Two problems, trials that diverge in one of them, and stops that are not at the ends of chunks of steps."""
    dtype, s, rates = torch.float64, 2, torch.tensor([[0.5, 1e200, 1.0, 2.0, 1e200, 3.0], [0.5, 1, 1.5, 2, 2.5, 3.0]])
    X, y, *_ = problem(classes=3, d=5, train=30)
    X = pad(normalize(X.to(dtype), dim=1), (0, 1), value=1)
    parts = [torch.arange(0, 70), torch.arange(10, 90)]
    initial = torch.stack([initial_weights(5, 3, Generator().manual_seed(i)) for i in range(s)]).to(dtype)
    decays = torch.full_like(rates, 1e-6)
    kept = {(0, 2): [0, 1, 2, 4, 5], (1, 2): [0, 2, 3, 4, 5], (0, 10): [1, 2, 4], (1, 10): [0, 1, 4]}
    seen: dict[tuple[int, int], list[int]] = {}

    def choose(problem: int, epoch: int, weights: Tensor) -> Tensor:
        seen[problem, epoch] = list(weights.shape)
        return torch.tensor(kept[problem, epoch])

    found = train_paired(
        Resident(pad(X, (0, 0, 0, 1)).to(device)), y.to(device), Schedule(parts, 40, 16), initial, rates.double(),
        decays.double(), momentum=0.9, generators=[Generator().manual_seed(i) for i in range(s)], dtype=dtype,
        stops=Stops((2, 10), choose),
    ).cpu()  # fmt: skip
    assert seen == {(0, 2): [6, 6, 3], (1, 2): [6, 6, 3], (0, 10): [5, 6, 3], (1, 10): [5, 6, 3]}
    for i, trials in enumerate(([1, 2, 5], [0, 2, 5])):
        alone = train_stacked(
            X[parts[i]], y[parts[i]], initial[i], rates[i].double(), decays[i].double(), epochs=40, batch=16,
            momentum=0.9, generator=Generator().manual_seed(i),
        )[trials]  # fmt: skip
        fine = [place for place, trial in enumerate(trials) if rates[i, trial] < 100]
        assert torch.allclose(found[i][fine], alone[fine], rtol=1e-9)
        assert torch.isfinite(found[i]).all()


@pytest.mark.parametrize("products", [torch.float32, torch.float16])
def test_trials_that_all_diverge_are_scored_to_the_end(products: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, X_test, y_test = problem(classes=3, train=10, test=2)
    protocol = replace(SMALL, rates=(1e38, 2e38), epochs=340, late_cut_epochs=(330, 334))
    stopped, tell = list[int | None](), Search.tell

    def told(search: Search, scores: Sequence[float], ends: Sequence[int | None] = ()) -> None:
        stopped.extend(ends)
        tell(search, scores, ends)

    monkeypatch.setattr(Search, "tell", told)
    with pytest.raises(UserError, match="final fit"):
        probe_logistic(X, y, X_test, y_test, protocol=protocol, products=products)
    assert [stopped.count(epoch) for epoch in (330, 334, None)] == [7, 3, 2]


def test_of_equal_scores_the_earlier_trials_go_on() -> None:
    scores = [0.5, 0.7, 0.5, 0.7, 0.9, 0.5]
    race = Race(((2, 4), (4, 1)), 1, 6, lambda _, weights: weights[:, 0, 0])
    first = race.stops.choose(0, 2, torch.tensor(scores)[:, None, None])
    assert first.tolist() == [0, 1, 3, 4]
    assert race.stops.choose(0, 4, torch.tensor([0.9, 0.1, 0.9, 0.2])[:, None, None]).tolist() == [0]
    last, stopped = race.finish(0, torch.tensor([0.3])[:, None, None])
    assert last == pytest.approx([0.3, 0.1, 0.5, 0.9, 0.2, 0.5])
    assert stopped == [None, 4, 2, 4, 4, 2]


def test_which_trials_are_still_running() -> None:
    places, trials = still_running(torch.tensor([1, 4, 6]), torch.tensor([0, 4, 5, 6]))
    assert (places.tolist(), trials.tolist()) == ([1, 3], [1, 2])


def test_work_of_the_protocol() -> None:
    assert COG_V2.trial_epochs == 3000
    assert COG_V2_PRUNED.trial_epochs == 30 * 10 + 12 * 20 + 4 * 70
    assert COG_V2_PRUNED.unpruned == COG_V2
    assert replace(COG_V2_PRUNED, epochs=20).trial_epochs == 30 * 10 + 12 * 10
    size = Size(20_480, 10, 4, (50,))
    flops = [Logistic(protocol).flops(size, Setting()) for protocol in (COG_V2, COG_V2_PRUNED)]
    assert flops == [4 * 51 * 4 * (16_384 * epochs + 20_480 * 100) for epochs in (3000, 820)]
    few = [Logistic(protocol).flops(size, Setting(8)) for protocol in (COG_V2, COG_V2_PRUNED)]
    assert few[0] == few[1]  # an epoch is a single step
    assert (MLP(protocol="cog-v2-pruned").searched, MLP().searched.name) == (MLP().searched, "cog-v2")


@pytest.mark.parametrize(
    "change",
    [{"round_size": 1}, {"cut_epochs": (5, 10)}, {"cut_epochs": (10, 4)}, {"survivors": (2, 5)}, {"survivors": (5,)}],
)
def test_cuts_that_cannot_be(change: dict[str, object]) -> None:
    with pytest.raises(UserError):
        replace(SMALL, **change)
