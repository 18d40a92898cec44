"""The stacked linear probe, against a plain loop of PyTorch with one setting at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unseen.errors import UserError
from unseen.metrics.surface_normals import angular_errors
from unseen.probes.patches.codes import ClassCodes, Codes, DepthCodes, NormalCodes
from unseen.probes.patches.linear import PATCH_LINEAR, PatchLinearProtocol, _factor, fit_patches
from unseen.probes.patches.probe_patches import _validation, choose_linear

SHORT = PatchLinearProtocol(epochs=2, batch=50, least_steps=1)


def patches(n: int = 200, d: int = 6, c: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    centres = 2 * torch.randn(c, d, generator=generator)
    classes = torch.randint(0, c, (n,), generator=generator)
    X = 3 + centres[classes] + torch.randn(n, d, generator=generator)
    Y = torch.nn.functional.one_hot(classes, c) * torch.randint(0, 5, (n, 1), generator=generator)
    return X, (Y + (torch.rand(n, c, generator=generator) < 0.1)).float()


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
    stack = fit_patches(X, Y, settings, SHORT, torch.Generator().manual_seed(7))
    for found, (rate, decay) in zip(stack.logits(X), settings, strict=True):
        assert torch.allclose(found, plain(X, Y, rate, decay, SHORT), atol=2e-4)


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
    found = choose_linear(X, Y, torch.arange(400) // 20, protocol, codes)
    assert found.setting == (1e-2, 0.0)
    assert found.edge
    assert found.validation[1] > found.validation[0]
    right = found.classifier.logits(X)[0].argmax(1) == Y.argmax(1)
    assert right.float().mean() > 0.8  # a tenth of the labels is wrong


def test_validation_scores_are_those_of_the_metrics() -> None:
    X, Y = patches(60)
    stack = fit_patches(X, Y, [(1e-2, 0.0)], SHORT, torch.Generator().manual_seed(0))
    shares = stack.logits(X)[0].softmax(1)
    known = Y.sum(1) > 0
    codes = NormalCodes(np.eye(3, dtype=np.float32))
    angles = angular_errors(shares[known], Y[known], torch.ones(int(known.sum()), dtype=torch.bool))
    weights = Y.sum(1)[known].double()
    assert _validation(stack, X, Y, codes)[0] == pytest.approx(
        -float((angles * weights).sum() / weights.sum()), abs=1e-3
    )


def test_patches_without_labels_do_not_matter() -> None:
    X, Y = patches()
    dark = torch.full((50, X.shape[1]), 1e3)
    more = fit_patches(torch.cat((X, dark)), torch.cat((Y, torch.zeros(50, 3))), [(1e-2, 0.0)], SHORT,
                       torch.Generator().manual_seed(0))  # fmt: skip
    alone = fit_patches(X, Y, [(1e-2, 0.0)], SHORT, torch.Generator().manual_seed(0))
    assert torch.equal(more.weights, alone.weights)
    with pytest.raises(UserError, match="no patch"):
        fit_patches(X, torch.zeros_like(Y), [(1e-2, 0.0)], SHORT, torch.Generator())
    with pytest.raises(UserError, match="two training images"):
        choose_linear(X, Y, torch.zeros(len(X)), SHORT, ClassCodes(3))
