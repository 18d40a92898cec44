"""Stacked perceptrons against `nn.Sequential` and `torch.optim.SGD`, one at a time, and the whole probe on them."""

import math
import warnings
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from unseen.errors import UserError
from unseen.probes import mlp as module
from unseen.probes.mlp import (
    Layer,
    MlpStack,
    initial_layers,
    mlp_accuracies,
    mlp_hits,
    probe_mlp,
    train_mlps,
)
from unseen.probes.protocol import COG_V1_MLP, COG_V1_MLP_LINEAR, MlpProtocol
from unseen.probes.sampling import split_validation

QUICK = MlpProtocol(
    name="quick", hidden=(16, 12), epochs=8, trials=6, round_size=3, batch=64, rates=(1e-2, 1.0), decays=(1e-6, 1e-3)
)
DECAYS = [1e-4, 1e-2, 3e-3]


def blobs(n: int, d: int, classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = Generator().manual_seed(n + d + seed)
    y = torch.arange(n) % classes
    X = 2 * torch.randn(classes, d, generator=Generator().manual_seed(d))[y]
    return X + torch.randn(n, d, generator=generator), y


def sequential(layers: list[Layer], relu: bool, dtype: torch.dtype) -> nn.Sequential:
    """The first perceptron of a stack as PyTorch's own."""
    modules: list[nn.Module] = []
    for layer in layers:
        inputs, outputs = layer.weights.shape[1:]
        linear = nn.Linear(inputs, outputs, dtype=dtype)
        with torch.no_grad():
            linear.weight.copy_(layer.weights[0].T)
            linear.bias.copy_(layer.bias[0, 0])
        modules += [linear, nn.ReLU()] if relu else [linear]
    return nn.Sequential(*(modules[:-1] if relu else modules))


def plain_loop(
    X: Tensor, y: Tensor, model: nn.Sequential, rate: float, decay: float, epochs: int, batch: int, generator: Generator
) -> nn.Sequential:
    """The public protocol: the rate is set after each epoch from that epoch's index."""
    optimiser = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=decay)
    for epoch in range(epochs):
        for chosen in torch.randperm(len(X), generator=generator).split(batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(X[chosen]), y[chosen]).backward()
            optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
    return model


def weights_of(stack: MlpStack, k: int) -> list[Tensor]:
    """In the order and shape of `nn.Sequential.parameters`."""
    return [part for layer in stack.layers for part in (layer.weights[k].T, layer.bias[k, 0])]


def train(
    X: Tensor, y: Tensor, initial: list[Layer], rates: list[float], decays: list[float], **options: Any
) -> MlpStack:
    pairs = [torch.tensor(values, dtype=torch.float64) for values in (rates, decays)]
    settings = {"rows": torch.arange(len(X)), "relu": True, "epochs": 6, "batch": 32, "momentum": 0.9} | options
    rows = settings.pop("rows")
    return train_mlps(X, y, rows, initial, *pairs, generator=Generator().manual_seed(7), **settings)


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize(
    ("n", "d", "hidden", "classes", "batch"),
    [
        (100, 8, (16, 12), 3, 32),
        (96, 8, (5,), 3, 32),
        (50, 40, (7, 7), 5, 1024),
        (7, 3, (4, 4, 4), 2, 2),
        (60, 1, (6,), 4, 16),
    ],
    ids=["partial batch", "one hidden layer", "one batch", "three hidden layers", "one dimension"],
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-8)])
def test_weights_equal_the_plain_loop(
    n: int, d: int, hidden: tuple[int, ...], classes: int, batch: int, relu: bool, dtype: torch.dtype, tolerance: float
) -> None:
    X, y = blobs(n, d, classes)
    X = X.to(dtype)
    initial = initial_layers((d, *hidden, classes), Generator().manual_seed(1))
    rates = [0.01, 0.03, 0.1]
    stack = train(X, y, initial, rates, DECAYS, relu=relu, batch=batch)
    assert stack.finished.all()
    for k, (rate, decay) in enumerate(zip(rates, DECAYS, strict=True)):
        model = sequential(initial, relu, dtype)
        plain_loop(X, y, model, rate, decay, 6, batch, Generator().manual_seed(7))
        for ours, theirs in zip(weights_of(stack, k), model.parameters(), strict=True):
            assert ours.dtype == dtype
            assert torch.allclose(ours, theirs, atol=tolerance, rtol=0)


def test_only_the_given_rows_are_trained_on() -> None:
    X, y = blobs(90, 6, 3)
    initial = initial_layers((6, 8, 3), Generator().manual_seed(1))
    rows = torch.arange(0, 90, 2)
    broken = X.clone()
    broken[1::2] = math.nan
    some, cut = train(broken, y, initial, [0.1], [0.0], rows=rows), train(X[rows], y[rows], initial, [0.1], [0.0])
    assert some.finished.all()
    for ours, theirs in zip(weights_of(some, 0), weights_of(cut, 0), strict=True):
        assert torch.equal(ours, theirs)


def test_the_initial_distribution_is_that_of_linear() -> None:
    layers = initial_layers((64, 400, 900), Generator().manual_seed(0))
    torch.manual_seed(0)
    for layer, (inputs, outputs) in zip(layers, [(64, 400), (400, 900)], strict=True):
        theirs = nn.Linear(inputs, outputs)
        assert layer.weights.abs().max() <= 1 / math.sqrt(inputs)
        assert float(layer.weights.std()) == pytest.approx(float(theirs.weight.detach().std()), rel=0.02)
        assert float(layer.bias.std()) == pytest.approx(float(theirs.bias.detach().std()), rel=0.1)


@pytest.mark.parametrize("relu", [True, False])
def test_one_that_diverges_keeps_its_last_weights_and_leaves_the_others_alone(relu: bool) -> None:
    X, y = blobs(80, 5, 3)
    initial = initial_layers((5, 8, 8, 3), Generator().manual_seed(1))
    alone = train(X, y, initial, [0.05], [1e-4], relu=relu, epochs=12)
    both = train(X, y, initial, [1e25, 0.05], [1e-4, 1e-4], relu=relu, epochs=12)
    assert both.finished.tolist() == [False, True]
    for ours, theirs in zip(weights_of(both, 1), weights_of(alone, 0), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
    assert all(weights.isfinite().all() for weights in weights_of(both, 0))
    # What stopped it is the plain loop's own end: its weights after the last step with a finite loss.
    model, steps = sequential(initial, relu, torch.float32), Generator().manual_seed(7)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e25, momentum=0.9, weight_decay=1e-4)
    for chosen in torch.randperm(80, generator=steps).split(32):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(X[chosen]), y[chosen]).backward()
        if not all(p.grad.isfinite().all() for p in model.parameters()):
            break
        optimiser.step()
    else:
        pytest.fail("the plain loop did not diverge")
    for ours, theirs in zip(weights_of(both, 0), model.parameters(), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize("block", [10, 1024])
def test_accuracies_equal_those_of_each_model(block: int) -> None:
    X, y = blobs(101, 6, 7)
    initial = initial_layers((6, 9, 7), Generator().manual_seed(3))
    stack = train(X, y, initial, [0.001, 0.1], [0.0, 0.0])
    rows = torch.randperm(101, generator=Generator().manual_seed(0))[:53]
    found = mlp_accuracies(X, y, rows, stack, (1, 5), block=block)
    for k in range(2):
        layers = [Layer(layer.weights[k : k + 1], layer.bias[k : k + 1]) for layer in stack.layers]
        scores = sequential(layers, True, torch.float32)(X[rows])
        assert float(found[0, k]) == pytest.approx(float((scores.argmax(1) == y[rows]).double().mean()))
        fifth = (scores.topk(5).indices == y[rows, None]).any(1)
        assert float(found[1, k]) == pytest.approx(float(fifth.double().mean()))


def problem(train_each: int = 30, test_each: int = 20) -> tuple[Tensor, ...]:
    return *blobs(6 * train_each, 10, 6), *blobs(6 * test_each, 10, 6, seed=1)


@pytest.mark.parametrize("relu", [True, False])
def test_trials_and_final_fit_equal_a_plain_loop(relu: bool) -> None:
    X, y, X_test, y_test = problem()
    seed, protocol = 3, replace(QUICK, relu=relu, rates=(1e-2, 0.1))  # at greater rates rounding grows to be seen
    found = probe_mlp(X, y, X_test, y_test, protocol=protocol, seed=seed)

    def plain(rows: Tensor, rate: float, decay: float, stream: int) -> nn.Sequential:
        generator = Generator().manual_seed((seed << 8) + stream)
        model = sequential(initial_layers((10, 16, 12, 6), generator), relu, torch.float32)
        return plain_loop(X[rows], y[rows], model, rate, decay, 8, 64, generator)

    part, held = split_validation(y, 0.2, Generator().manual_seed(seed << 8))
    assert len(found.trials) == 6
    for trial in found.trials:
        model = plain(part, trial.rate, trial.decay, 2)
        score = float((model(X[held]).argmax(1) == y[held]).double().mean())
        assert trial.score == pytest.approx(score, abs=1.01 / len(held))
    final = plain(torch.arange(len(y)), found.rate, found.decay, 4)
    scores = final(X_test)
    assert found.top1 == pytest.approx(float((scores.argmax(1) == y_test).double().mean()), abs=1.01 / len(y_test))
    top5 = float((scores.topk(5).indices == y_test[:, None]).any(1).double().mean())
    assert found.top5 == pytest.approx(top5, abs=1.01 / len(y_test))


def test_scores_that_are_not_finite_lose_a_search_and_are_no_accuracy() -> None:
    X, y = problem()[:2]
    stack = MlpStack(
        tuple(Layer(*(t.repeat(2, 1, 1) for t in layer.tensors)) for layer in initial_layers((10, 6), Generator())),
        True,
        torch.ones(2, dtype=torch.bool),
    )
    stack.layers[0].weights[1, 0, 0] = math.inf
    rows = torch.arange(len(y))
    hits, finite = mlp_hits(X, y, rows, stack, (1, 5))
    assert finite.tolist() == [True, False]
    assert not hits[1, 1].any()
    assert torch.equal(mlp_accuracies(X, y, rows, stack, (1, 5)), hits.double().mean(dim=2))


def test_relu_separates_what_no_linear_classifier_can() -> None:
    generator = Generator().manual_seed(0)
    parts = []
    for n in (300, 200):
        X = torch.randn(n, 2, generator=generator)
        parts += [X, (X[:, 0] * X[:, 1] > 0).long()]
    protocol = replace(QUICK, hidden=(32, 32), epochs=30)
    assert probe_mlp(*parts, protocol=protocol).top1 > 0.9
    # Without activations, greater rates diverge here.
    assert probe_mlp(*parts, protocol=replace(protocol, relu=False, rates=(1e-2, 0.1))).top1 < 0.7


def test_the_same_seed_gives_the_same_numbers_and_another_does_not() -> None:
    data = problem()
    first, same, other = (probe_mlp(*data, protocol=QUICK, seed=seed) for seed in (0, 0, 1))
    assert first == same
    assert first.trials != other.trials


def test_sequential_is_one_trial_at_a_time() -> None:
    assert QUICK.sequential == replace(QUICK, round_size=1)
    alone, rounds = (probe_mlp(*problem(), protocol=p).trials for p in (QUICK.sequential, QUICK))
    # Ten random draws are the same however they are asked for; stacking does not change what a trial finds.
    assert [t.rate for t in alone] == pytest.approx([t.rate for t in rounds])
    assert [t.score for t in alone] == pytest.approx([t.score for t in rounds], abs=1.01 / 36)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32])
def test_types_and_layout_do_not_matter(dtype: torch.dtype) -> None:
    X, y, X_test, y_test = problem()
    X, X_test = (8 * X).round(), (8 * X_test).round()
    apart = torch.stack([X, X], dim=2).to(dtype)[:, :, 0]
    assert not apart.is_contiguous()
    plain = probe_mlp(X, y, X_test, y_test, protocol=QUICK)
    assert probe_mlp(apart, y.to(torch.uint8), X_test.to(dtype), y_test.int(), protocol=QUICK) == plain


def test_trials_that_diverge_are_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, X_test, y_test = problem()
    protocol = replace(QUICK, rates=(1e-2, 1e30), trials=8, starts=8)
    train = module.train_mlps
    finished = list[bool]()

    def recorded(*arguments: Any, **options: Any) -> MlpStack:
        stack = train(*arguments, **options)
        finished.extend(stack.finished.tolist())
        return stack

    monkeypatch.setattr(module, "train_mlps", recorded)
    monkeypatch.setattr(module, "mlp_accuracies", lambda *_, **__: torch.ones(2, 8, dtype=torch.float64))
    found = probe_mlp(X, y, X_test, y_test, protocol=replace(protocol, round_size=8))
    assert finished[:8].count(False) > 2
    assert finished[8]
    # All trials score alike: the first of those that did not diverge is chosen.
    assert found.rate == found.trials[finished.index(True)].rate


def test_a_final_mlp_that_diverges_is_refused() -> None:
    X, y, X_test, y_test = problem()
    for scale in (1e6, 1e30):
        with pytest.raises(UserError, match="the final MLP diverged at the learning rate"):
            probe_mlp(X * scale, y, X_test * scale, y_test, protocol=QUICK)
    with pytest.raises(UserError, match="not finite"):  # its weights are fine, but a score overflows
        probe_mlp(X, y, X_test.sign() * 3e38, y_test, protocol=QUICK)
    # Tiny features are a constant to the perceptron: one class for all.
    assert probe_mlp(X * 1e-30, y, X_test * 1e-30, y_test, protocol=QUICK).top1 == pytest.approx(1 / 6)


def test_features_of_zeros_and_twin_samples_are_allowed() -> None:
    X, y, X_test, y_test = problem()
    X = torch.cat([torch.zeros(6, 10), X[:90], X[:90]])
    y = torch.cat([torch.arange(6), y[:90], y[:90]])
    assert probe_mlp(X, y, X_test, y_test, protocol=QUICK).top1 > 1 / 3


def test_bad_input_is_refused_by_name() -> None:
    X, y, X_test, y_test = problem()
    broken = X.clone()
    broken[3, 4] = math.nan
    cases = [
        ((broken, y, X_test, y_test), "training features contain values that are not finite real numbers"),
        ((X, y, X_test.double() * 1e300, y_test), "test features contain values .* in single precision"),
        ((X + 0j, y, X_test, y_test), "not finite real numbers"),
        ((X, y[:-1], X_test, y_test), "training features of shape .* do not match labels"),
        ((X[:, :0], y, X_test[:, :0], y_test), "do not match labels"),
        ((X, y, X_test[:, :5], y_test), "training features have 10 dimensions, test features 5"),
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
            probe_mlp(*data, protocol=QUICK)


def test_the_protocols_are_those_of_the_paper() -> None:
    for protocol in (COG_V1_MLP, COG_V1_MLP_LINEAR):
        assert protocol.hidden == (2048, 2048)
        assert (protocol.epochs, protocol.trials, protocol.batch, protocol.momentum) == (100, 30, 1024, 0.9)
        assert protocol.decays == (1e-8, 1e-4)
    assert (COG_V1_MLP.relu, COG_V1_MLP.rates) == (True, (1e-1, 1e2))
    assert (COG_V1_MLP_LINEAR.relu, COG_V1_MLP_LINEAR.rates) == (False, (1e-2, 1e1))


@pytest.mark.gpu
@pytest.mark.parametrize("relu", [True, False])
def test_the_same_on_a_gpu(relu: bool) -> None:
    X, y = blobs(200, 20, 5)
    initial = initial_layers((20, 64, 64, 5), Generator().manual_seed(1))
    here, there = (
        train(X.double().to(device), y.to(device), initial, [0.01, 0.1], [1e-4, 1e-3], relu=relu)
        for device in ("cpu", "cuda")
    )
    for k in range(2):
        for ours, theirs in zip(weights_of(there, k), weights_of(here, k), strict=True):
            assert torch.allclose(ours.cpu(), theirs, atol=1e-8)
    data = problem()
    on_device = probe_mlp(*data, protocol=replace(QUICK, relu=relu), device="cuda")
    assert on_device.top1 == pytest.approx(probe_mlp(*data, protocol=replace(QUICK, relu=relu)).top1, abs=0.05)


@pytest.mark.gpu
def test_no_step_on_a_gpu_waits_for_the_device() -> None:
    X, y = blobs(64, 20, 5)
    X, y = X.cuda(), y.cuda()
    initial = initial_layers((20, 16, 5), Generator().manual_seed(1))
    waits = []
    for batch in (64, 4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                stack = train(X, y, initial, [0.1, 1e30], [0.0, 0.0], epochs=3, batch=batch)
            finally:
                torch.cuda.set_sync_debug_mode("default")
        waits.append(sum("called a synchronizing" in str(warning.message) for warning in caught))
        assert stack.finished.tolist() == [True, False]
    # The order and the rates of an epoch are copied to the device; sixteen steps in place of one add nothing.
    assert waits[1] <= waits[0]
