"""The stacked linear probe, against a plain loop of PyTorch with one setting at a time."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from unseen.device import default_device
from unseen.errors import UserError
from unseen.metrics.surface_normals import angular_errors
from unseen.probes.patches import linear
from unseen.probes.patches.codes import ClassCodes, Codes, DepthCodes, NormalCodes
from unseen.probes.patches.labels import PatchLabels
from unseen.probes.patches.linear import LinearStack, _factor, fit_patches
from unseen.probes.patches.probe_patches import choose_linear, validation_scores
from unseen.probes.patches.protocols import PATCH_LINEAR, PatchLinearProtocol, Setting
from unseen.probes.patches.rows import PatchRows
from unseen.probes.patches.training import TrainingPatches

SHORT = PatchLinearProtocol(epochs=2, batch=50, least_steps=1)


def patches(n: int = 200, d: int = 6, c: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    centres = 2 * torch.randn(c, d, generator=generator)
    classes = torch.randint(0, c, (n,), generator=generator)
    X = 3 + centres[classes] + torch.randn(n, d, generator=generator)
    Y = torch.nn.functional.one_hot(classes, c) * torch.randint(0, 5, (n, 1), generator=generator)
    return X, (Y + (torch.rand(n, c, generator=generator) < 0.1)).float()


def fitted(X: torch.Tensor, Y: torch.Tensor, settings: Sequence[Setting], seed: int = 0) -> LinearStack:
    generator = torch.Generator().manual_seed(seed)
    return fit_patches(TrainingPatches.of(X, Y), torch.arange(len(X)), settings, SHORT, generator)


def plain(X: torch.Tensor, Y: torch.Tensor, rate: float, decay: float, protocol: PatchLinearProtocol) -> torch.Tensor:
    """Logits of a linear layer on normalised features, by torch.optim.AdamW, on the same batches."""
    pixels = Y.sum(1)
    places = torch.nonzero(pixels > 0).flatten()
    mean, deviation = X[places].mean(0), X[places].std(0, correction=0)
    layer = torch.nn.Linear(X.shape[1], Y.shape[1])
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    groups = [{"params": [layer.weight], "weight_decay": decay}, {"params": [layer.bias], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate)
    generator = torch.Generator().manual_seed(7)
    steps = protocol.steps(len(places))
    order, place = places[torch.randperm(len(places), generator=generator)], 0
    for step in range(steps):
        if place + protocol.batch > len(order):
            order, place = places[torch.randperm(len(places), generator=generator)], 0
        rows = order[place : place + protocol.batch]
        place += protocol.batch
        for group in optimizer.param_groups:
            group["lr"] = rate * _factor(step, steps, protocol.warm_up)
        losses = torch.nn.functional.cross_entropy(
            layer((X[rows] - mean) / deviation), Y[rows] / pixels[rows, None], reduction="none"
        )
        optimizer.zero_grad()
        ((losses * pixels[rows]).sum() / pixels[rows].sum()).backward()
        optimizer.step()
    with torch.no_grad():
        return layer((X - mean) / deviation)


def test_every_setting_is_trained_as_if_alone() -> None:
    X, Y = patches()
    settings = [(1e-2, 0.0), (3e-3, 0.1), (1e-1, 0.5)]
    stack = fitted(X, Y, settings, seed=7)
    for found, (rate, decay) in zip(stack.logits(X), settings, strict=True):
        assert torch.allclose(found, plain(X, Y, rate, decay, SHORT), atol=2e-4)


def test_every_decay_acts_in_the_shortest_training() -> None:
    """Decay multiplies the learning rate: over 500 steps, 0.01 changed no weight by more than a thousandth."""
    X, Y = patches()
    generator = torch.Generator().manual_seed(0)
    found = fit_patches(TrainingPatches.of(X, Y), torch.arange(len(X)), PATCH_LINEAR.settings, PATCH_LINEAR, generator)
    sizes = found.weights.norm(dim=(1, 2)).view(len(PATCH_LINEAR.rates), len(PATCH_LINEAR.decays))
    assert bool((sizes[:, 1:] < 0.99 * sizes[:, :-1]).all())


def test_the_schedule_rises_and_falls() -> None:
    factors = [_factor(step, 100, 0.05) for step in range(100)]
    assert factors[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert factors[5:] == sorted(factors[5:], reverse=True)
    assert factors[-1] < 0.001


def test_small_sets_get_the_least_number_of_steps() -> None:
    assert PATCH_LINEAR.steps(100) == 500
    assert PATCH_LINEAR.steps(20_695_040) == 25_263  # ADE20K's 20,210 images of 32 × 32 patches


@pytest.mark.parametrize(
    "codes",
    [ClassCodes(3), NormalCodes(np.eye(3, dtype=np.float32)), DepthCodes(3)],
    ids=["classes", "normals", "depth"],
)
def test_the_best_setting_on_other_images_is_chosen_by_the_score_of_the_task(codes: Codes) -> None:
    X, Y = patches(400)
    Y = torch.nn.functional.one_hot(Y.argmax(1), 3).float()
    protocol = replace(SHORT, rates=(1e-8, 1e-2), decays=(0.0,), epochs=30)
    found = choose_linear(TrainingPatches.of(X, Y, 20), protocol, codes)
    assert found.setting == (1e-2, 0.0)
    assert found.edge
    assert found.validation[1] > found.validation[0]
    right = found.classifier.logits(X)[0].argmax(1) == Y.argmax(1)
    assert right.float().mean() > 0.8  # a tenth of the labels is wrong


def test_validation_scores_are_those_of_the_metrics() -> None:
    X, Y = patches(60)
    stack = fitted(X, Y, [(1e-2, 0.0)])
    shares = stack.logits(X)[0].softmax(1)
    known = Y.sum(1) > 0
    codes = NormalCodes(np.eye(3, dtype=np.float32))
    angles = angular_errors(shares[known], Y[known], torch.ones(int(known.sum()), dtype=torch.bool))
    weights = Y.sum(1)[known].double()
    found = validation_scores(stack, TrainingPatches.of(X, Y), torch.arange(60), codes)
    assert found[0] == pytest.approx(-float((angles * weights).sum() / weights.sum()), abs=1e-3)


def test_patches_without_labels_do_not_matter() -> None:
    X, Y = patches()
    dark = torch.full((50, X.shape[1]), 1e3)
    more = fitted(torch.cat((X, dark)), torch.cat((Y, torch.zeros(50, 3))), [(1e-2, 0.0)])
    assert torch.equal(more.weights, fitted(X, Y, [(1e-2, 0.0)]).weights)
    with pytest.raises(UserError, match="no patch"):
        fitted(X, torch.zeros_like(Y), [(1e-2, 0.0)])
    with pytest.raises(UserError, match="two training images"):
        choose_linear(TrainingPatches.of(X, Y, len(X)), SHORT, ClassCodes(3))
    with pytest.raises(UserError, match="no labelled pixel"):  # of the image that is held out
        held = torch.randperm(2, generator=torch.Generator().manual_seed(0))[0]
        choose_linear(TrainingPatches.of(X, Y * (torch.arange(200) // 100 != held)[:, None], 100), SHORT, ClassCodes(3))


@pytest.mark.gpu_too
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_patches_read_from_files_give_the_same_bits(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same patches in the same batches: where the features are kept does not change them."""
    X, Y = patches()
    labels, parts = PatchLabels.of([Y.numpy()], 3), [each.half().numpy() for each in X.split([130, 20, 50])]
    read = TrainingPatches(PatchRows(parts, default_device(), dtype), labels, torch.arange(20), 10)
    protocol = replace(SHORT, rates=(1e-3, 1e-2), decays=(0.0,))
    expected = choose_linear(read.on_device(), protocol, ClassCodes(3))
    monkeypatch.setattr(linear, "BLOCK_BYTES", 1)
    found = choose_linear(read, protocol, ClassCodes(3))
    assert found.validation == expected.validation
    assert torch.equal(found.classifier.weights, expected.classifier.weights)
    assert torch.equal(found.classifier.bias, expected.classifier.bias)


def test_what_is_not_finite_is_refused() -> None:
    X, Y = patches()
    with pytest.raises(UserError, match="weights"):
        fitted(X, Y, [(1e-2, 0.0), (float("inf"), 0.0)])
    X[7, 2] = torch.nan
    with pytest.raises(UserError, match="features"):
        fitted(X, Y, [(1e-2, 0.0)])


def test_gradients_of_heavy_tails_do_not_overflow_in_16_bits() -> None:
    """Sums over a batch that exceed 65,504 in 16 bits: a feature that is large for the few patches of a class."""
    X, Y = torch.randn(8192, 4, generator=torch.Generator().manual_seed(0)), torch.zeros(8192, 2)
    Y[:, 0] = 1
    X[:64], Y[:64] = 30_000.0, torch.tensor([0.0, 5000.0])
    protocol = replace(SHORT, batch=8192, epochs=20)
    half = TrainingPatches.of(X.half(), Y)
    generators = [torch.Generator().manual_seed(0) for _ in range(2)]
    stack = fit_patches(half, torch.arange(8192), [(1e-2, 0.0)], protocol, generators[0])
    exact = fit_patches(TrainingPatches.of(X, Y), torch.arange(8192), [(1e-2, 0.0)], protocol, generators[1])
    assert torch.allclose(stack.logits(X[:9]).softmax(2), exact.logits(X[:9]).softmax(2), atol=5e-3)
