"""The whole probe: against a plain reimplementation, on awkward input, and reproducible."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Generator, Tensor, nn

from unseen.errors import UserError
from unseen.metrics.geometry import unit_rows
from unseen.probes.logistic import Setting, final_fit, probe_logistic, probe_settings
from unseen.probes.protocol import COG_V2, LogisticProtocol
from unseen.probes.sampling import draw_shots, split_validation, stream
from unseen.probes.sgd.rows import Resident
from unseen.probes.sgd.schedule import epoch_orders
from unseen.probes.sgd.scoring import accuracies, final_hits
from unseen.probes.sgd.stacked import initial_weights

QUICK = LogisticProtocol(name="quick", epochs=8, trials=6, round_size=3, batch=64)


def problem(classes: int = 6, d: int = 12, train: int = 30, test: int = 20, noise: float = 1.3) -> tuple[Tensor, ...]:
    generator = Generator().manual_seed(classes)
    centres = torch.randn(classes, d, generator=generator)
    parts = []
    for each in (train, test):
        y = torch.arange(classes).repeat(each)
        parts += [centres[y] + noise * torch.randn(len(y), d, generator=generator), y]
    return tuple(parts)


def plain_fit(
    X: Tensor, y: Tensor, rate: float, decay: float, protocol: LogisticProtocol, generator: Generator
) -> nn.Linear:
    """One classifier by `torch.optim.SGD`, with the same start and order of samples."""
    classes = int(y.max()) + 1
    initial = initial_weights(X.shape[1], classes, generator)
    model = nn.Linear(X.shape[1], classes)
    with torch.no_grad():
        model.weight.copy_(initial[:-1].T)
        model.bias.copy_(initial[-1])
    optimiser = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=decay)
    batch = min(protocol.batch, len(X))
    blocks = epoch_orders(len(X), protocol.epochs, generator)
    for epoch, order in enumerate(order for block in blocks for order in block.draw()):
        for chosen in order.split(batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(X[chosen]), y[chosen]).backward()
            optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * epoch / protocol.epochs))
    return model


@pytest.mark.parametrize("shots", [None, 1, 4])
def test_trials_and_final_fit_equal_a_plain_loop(shots: int | None) -> None:
    X, y, X_test, y_test = problem()
    seed = 3
    protocol = replace(QUICK, rates=(1e-1, 5.0))  # at greater rates rounding grows to be seen
    found = probe_logistic(X, y, X_test, y_test, protocol=protocol, shots=shots, seed=seed)
    unit, unit_test = nn.functional.normalize(X, dim=1), nn.functional.normalize(X_test, dim=1)
    part, held = split_validation(y, 0.2, stream(seed, 0))
    assert len(held) == 6 * 6
    if shots:
        part = part[draw_shots(y[part], shots, stream(seed, 1))]
    for trial in found.trials:
        model = plain_fit(unit[part], y[part], trial.rate, trial.decay, protocol, stream(seed, 2))
        score = float((model(unit[held]).argmax(1) == y[held]).double().mean())
        assert trial.score == pytest.approx(score, abs=1.01 / len(held))
    whole = draw_shots(y, shots, stream(seed, 3)) if shots else torch.arange(len(y))
    final = plain_fit(unit[whole], y[whole], found.rate, found.decay, protocol, stream(seed, 4))
    scale = max(1.0, float(final.weight.detach().abs().max()))
    assert torch.allclose(found.weights, final.weight, atol=1e-5 * scale, rtol=1e-4)
    assert torch.allclose(found.bias, final.bias, atol=1e-5 * scale, rtol=1e-4)
    scores = final(unit_test)
    assert found.top1 == pytest.approx(float((scores.argmax(1) == y_test).double().mean()), abs=1.01 / len(y_test))
    top5 = float((scores.topk(5).indices == y_test[:, None]).any(1).double().mean())
    assert found.top5 == pytest.approx(top5, abs=0.01)
    assert found.fewest_samples == (shots or 30)


def test_settings_together_are_the_same_as_each_alone() -> None:
    data = problem()
    settings = [Setting(shots, seed) for shots in (1, 4, None) for seed in (0, 1)]
    together = dict(probe_settings(*data, settings, protocol=QUICK))
    assert set(together) == set(settings)
    for setting, found in together.items():
        alone = probe_logistic(*data, protocol=QUICK, shots=setting.shots, seed=setting.seed)
        assert torch.equal(found.weights, alone.weights)
        assert found.trials == alone.trials


@pytest.mark.gpu
@pytest.mark.parametrize(("products", "tolerance"), [(torch.float32, 0.02), (torch.float16, 0.05)])
def test_a_gpu_finds_what_a_cpu_finds(products: torch.dtype, tolerance: float) -> None:
    data = problem(classes=10, d=64, train=60, test=50, noise=2.5)
    settings = [Setting(shots, seed) for shots in (1, 4, None) for seed in (0, 1)]
    found = dict(probe_settings(*data, settings, protocol=QUICK, device="cuda", products=products))
    again = dict(probe_settings(*data, settings, protocol=QUICK, device="cuda", products=products))
    for setting, there in found.items():
        here = probe_logistic(*data, protocol=QUICK, shots=setting.shots, seed=setting.seed)
        assert there.top1 == pytest.approx(here.top1, abs=tolerance)
        assert torch.equal(there.weights, again[setting].weights)


def test_the_same_seed_gives_the_same_numbers_and_another_does_not() -> None:
    data = problem()
    first, same, other = (probe_logistic(*data, protocol=QUICK, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.weights, same.weights)
    assert first.trials == same.trials
    assert first.trials != other.trials


def test_more_shots_help_and_the_answer_is_found() -> None:
    data = problem(noise=0.8)
    scores = [probe_logistic(*data, protocol=QUICK, shots=shots).top1 for shots in (1, 4, None)]
    assert scores[0] < scores[1] <= scores[2]
    assert scores[2] > 0.9


def test_sequential_is_one_trial_at_a_time() -> None:
    alone, rounds = (
        probe_logistic(*problem(), protocol=replace(QUICK, trials=13, round_size=size)) for size in (1, 13)
    )
    # Ten random draws are the same; then the sequential search knows their scores and the round does not.
    assert [t.rate for t in alone.trials[:10]] == pytest.approx([t.rate for t in rounds.trials[:10]])
    assert [t.rate for t in alone.trials[10:]] != pytest.approx([t.rate for t in rounds.trials[10:]])
    assert probe_logistic(*problem(), protocol=replace(QUICK, trials=13).sequential).trials == alone.trials


def test_types_and_layout_do_not_matter() -> None:
    X, y, X_test, y_test = problem()
    plain = probe_logistic(X, y, X_test, y_test, protocol=QUICK)
    wide = torch.stack([X, X], dim=2)[:, :, 0]
    assert not wide.is_contiguous()
    doubled = probe_logistic(wide.double(), y.int(), X_test.double(), y_test.to(torch.uint8), protocol=QUICK)
    assert doubled.top1 == plain.top1


def test_a_class_with_too_few_samples_uses_what_there_is() -> None:
    X, y, X_test, y_test = problem()
    kept = torch.cat([torch.where(y == label)[0][: 3 if label == 0 else 30] for label in range(6)])
    found = probe_logistic(X[kept], y[kept], X_test, y_test, protocol=QUICK, shots=8)
    assert found.fewest_samples == 3


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_the_scale_of_features_does_not_matter(scale: float) -> None:
    X, y, X_test, y_test = problem()
    plain = probe_logistic(X, y, X_test, y_test, protocol=QUICK)
    scaled = probe_logistic(X.double() * scale, y, X_test.double() * scale, y_test, protocol=QUICK)
    assert scaled.top1 == pytest.approx(plain.top1, abs=1.01 / len(y_test))


@pytest.mark.parametrize("products", [torch.float32, torch.float16])
@pytest.mark.parametrize("shots", [None, 1])
@pytest.mark.parametrize("rates", [(1e30, 1e36), (1e37, 1e38)])
def test_a_final_fit_that_diverges_is_refused(
    rates: tuple[float, float], shots: int | None, products: torch.dtype
) -> None:
    X, y, X_test, y_test = problem()
    protocol, said = replace(QUICK, rates=rates, decays=(1.0, 1e3)), "the final fit .* diverged at the learning rate"
    with pytest.raises(UserError, match=said):
        probe_logistic(X, y, X_test, y_test, protocol=protocol, shots=shots, products=products)
    options = {"protocol": protocol, "device": torch.device("cpu"), "products": products}
    with pytest.raises(UserError, match=said):
        final_fit(X, y, 6, Setting(shots, 0), (rates[0], 1.0), **options)
    weights, bias = final_fit(X, y, 6, Setting(shots, 0), (0.1, 1e-4), **options)
    assert weights.isfinite().all()
    assert bias.isfinite().all()


def test_trials_that_diverge_lose() -> None:
    protocol = replace(QUICK, rates=(1e-3, 1e33), decays=(1e-3, 1e-2), starts=6)  # the first rate is 1
    found = probe_logistic(*problem(), protocol=protocol)
    assert found.rate == pytest.approx(1)
    assert found.top1 > 0.5


def test_scores_that_are_not_finite_lose_a_search_and_are_no_accuracy() -> None:
    X, y = problem()[:2]
    tests = Resident.load(X, unit_rows, device=torch.device("cpu"), dtype=torch.float32, name="test")
    weights = torch.stack(2 * [initial_weights(12, 6, Generator().manual_seed(0))])
    weights[1, 3, 3] = math.inf
    searched = accuracies(tests, torch.arange(len(y)), y, weights, (1, 5))
    assert searched.isfinite().all()
    assert final_hits(tests, y, weights[1:], (1, 5)) is None
    hits = final_hits(tests, y, weights[:1], (1, 5))
    assert hits is not None
    assert torch.equal(hits.double().mean(dim=1), searched[:, 0])


def test_constant_features_score_by_chance() -> None:
    _, y, _, y_test = problem()
    found = probe_logistic(torch.ones(len(y), 4), y, torch.ones(len(y_test), 4), y_test, protocol=QUICK)
    assert found.top1 == pytest.approx(1 / 6)


@pytest.mark.parametrize("shots", [1, None])
def test_rows_of_zeros_take_part(shots: int | None) -> None:
    X, y, X_test, y_test = problem()
    X[[7, 8]] = 0
    X_test[0] = 0
    found = probe_logistic(X, y, X_test, y_test, protocol=QUICK, shots=shots)
    assert found.weights.isfinite().all()
    assert found.top1 > 1 / 6
    # What it says of such a row is what the biases say.
    assert torch.equal(found.weights @ X_test[0] + found.bias, found.bias)


def test_bad_input_is_refused_by_name() -> None:
    X, y, X_test, y_test = problem()
    broken = X.clone()
    broken[3, 4] = math.nan
    cases = [
        ((X + 0j, y, X_test, y_test), "complex"),
        ((broken, y, X_test, y_test), "training features contain values that are not finite: row 3"),
        ((X, y[:-1], X_test, y_test), "do not match labels"),
        ((X, y, X_test[:, :5], y_test), "training features have 12 dimensions, test features 5"),
        ((X, y, X_test[y_test != 2], y_test[y_test != 2]), "class 2 has no test sample"),
        ((X[y != 2], y[y != 2], X_test, y_test), "class 2 has no training sample"),
        ((X, y * 2, X_test, y_test * 2), "without gaps"),
        ((X, y - 1, X_test, y_test), "class indices from 0"),
        ((X, y.float(), X_test, y_test), "class indices from 0"),
        ((X[y == 0], y[y == 0], X_test[y_test == 0], y_test[y_test == 0]), "at least two classes"),
        ((X[:6], y[:6], X_test, y_test), "none is left to choose"),
    ]
    for data, message in cases:
        with pytest.raises(UserError, match=message):
            probe_logistic(*data, protocol=QUICK)
    with pytest.raises(UserError, match="shots must be at least 1"):
        probe_logistic(X, y, X_test, y_test, protocol=QUICK, shots=0)


def test_the_protocol_is_that_of_the_paper() -> None:
    assert (COG_V2.epochs, COG_V2.trials, COG_V2.batch, COG_V2.momentum, COG_V2.validation) == (100, 30, 1024, 0.9, 0.2)
    assert COG_V2.rates == (1e-1, 1e2)
    assert COG_V2.decays == (1e-12, 1e-4)
