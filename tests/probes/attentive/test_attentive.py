"""Attentive probes compared with a plain PyTorch module that computes values of every patch, one setting at a time."""

from collections.abc import Sequence
from dataclasses import replace
from math import cos, pi

import pytest
import torch
from torch import Tensor, nn

from unseen.errors import UserError
from unseen.probes.attentive.choose import choose_attentive
from unseen.probes.attentive.choose import test_scores as scores_of_all
from unseen.probes.attentive.data import LabelledImages
from unseen.probes.attentive.protocol import AttentiveProtocol
from unseen.probes.attentive.stack import AttentiveStack, Parameters, Shape
from unseen.probes.attentive.train import demand, fit_attentive, images_at_once, refuse_queries
from unseen.probes.patches.patch_probe import PatchSize

QUICK = AttentiveProtocol(queries=4, rates=(0.5, 5.0), decays=(0.0, 0.1), epochs=6, batch=16, least_steps=20)
CPU = torch.device("cpu")


class Module(nn.Module):
    """The probe as one would write it: values of all patches, then attention."""

    def __init__(self, queries: Tensor, values: Tensor, weights: Tensor, bias: Tensor) -> None:
        super().__init__()
        d = queries.shape[1]
        self.queries = nn.Parameter(queries.clone()[None])
        self.values = nn.Linear(d, d, bias=False)
        self.norm = nn.BatchNorm1d(d, affine=False, eps=1e-6)
        self.classifier = nn.Linear(d, len(bias))
        self.double()
        with torch.no_grad():
            self.values.weight.copy_(values.reshape(d, d))
            self.classifier.weight.copy_(weights)
            self.classifier.bias.copy_(bias)

    def forward(self, X: Tensor) -> Tensor:
        b, patches, d = X.shape
        m = self.queries.shape[1]
        attention = (X @ self.queries[0].T / d**0.5).softmax(dim=1)  # (b, P, m)
        values = self.values(X).view(b, patches, m, d // m)
        h = torch.stack([(attention[:, :, j, None] * values[:, :, j]).sum(dim=1) for j in range(m)], dim=1)
        logits: Tensor = self.classifier(self.norm(h.flatten(1)))
        return logits


def plain_lars(
    module: Module, velocities: dict[nn.Parameter, Tensor], rate: float, decay: float, momentum: float, trust: float
) -> None:
    """A loop over parameters."""
    for p in module.parameters():
        assert p.grad is not None
        g = p.grad
        if p.ndim > 1:
            g = g + decay * p.detach()
            g = g * trust * p.detach().norm() / g.norm()
        velocities[p] = momentum * velocities.get(p, torch.zeros_like(p)) + g
        with torch.no_grad():
            p.sub_(rate * velocities[p])


def some(
    n: int = 50, patches: int = 6, d: int = 12, classes: int = 3, *, several: bool = False
) -> tuple[Tensor, Tensor]:
    """Features (n, P, d), in which one patch of each image shows its class, and labels."""
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(n, patches, d, generator=generator, dtype=torch.float64)
    y = torch.randint(classes, (n,), generator=generator)
    X[torch.arange(n), torch.randint(patches, (n,), generator=generator)] += 6 * torch.eye(classes, d).double()[y]
    if not several:
        return X, y
    Y = torch.rand(n, classes, generator=generator) < 0.4
    Y[torch.arange(n), y] = True
    return X, Y


def images_of(X: Tensor, Y: Tensor, dtype: torch.dtype = torch.float64) -> LabelledImages:
    return LabelledImages.of([X.flatten(1)[:20].numpy(), X.flatten(1)[20:].numpy()], X.shape[1], Y, CPU, dtype)


def modules_of(stack: AttentiveStack) -> list[Module]:
    return [Module(*values) for values in zip(*stack.parameters.every, strict=True)]


def assert_same(stack: AttentiveStack, modules: Sequence[Module]) -> None:
    for place, module in enumerate(modules):
        q, v, w, b = (each[place] for each in stack.parameters.every)
        torch.testing.assert_close(q, module.queries[0].detach())
        torch.testing.assert_close(v.flatten(0, 1), module.values.weight.detach())
        torch.testing.assert_close(w, module.classifier.weight.detach())
        torch.testing.assert_close(b, module.classifier.bias.detach())
        torch.testing.assert_close(stack.mean[place], module.norm.running_mean)
        torch.testing.assert_close(stack.variance[place], module.norm.running_var)


@pytest.mark.parametrize("several", [False, True])
def test_a_training_is_that_of_a_plain_module(several: bool) -> None:
    """Equal losses in every step, and equal weights and running statistics after the last."""
    X, Y = some(several=several)
    index, settings = torch.arange(5, 45), QUICK.settings
    losses = list[Tensor]()
    stack = fit_attentive(
        images_of(X, Y), index, 3, settings, QUICK, torch.Generator().manual_seed(0),
        watch=lambda step, each: losses.append(each),
    )  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    modules = modules_of(AttentiveStack.drawn(Shape(4, 4, 12, 3), generator, CPU, torch.float64))
    velocities: list[dict[nn.Parameter, Tensor]] = [{} for _ in modules]
    steps, step = 20, 0
    assert len(losses) == steps
    while step < steps:
        order = index[torch.randperm(len(index), generator=generator)]
        for rows in (order[:16], order[16:32]):
            done = step / steps
            factor = 9 * done if done < 1 / 9 else (1 + cos(pi * (done - 1 / 9) * 9 / 8)) / 2
            for place, (module, (rate, decay)) in enumerate(zip(modules, settings, strict=True)):
                module.zero_grad()
                logits = module(X[rows])
                if several:
                    loss = nn.functional.binary_cross_entropy_with_logits(logits, Y[rows].double())
                else:
                    loss = nn.functional.cross_entropy(logits, Y[rows])
                loss.backward()
                assert losses[step][place].item() == pytest.approx(loss.item(), rel=1e-9)
                plain_lars(module, velocities[place], factor * rate * 16 / 256, decay, 0.9, 1e-3)
            step += 1
    assert_same(stack, modules)
    with torch.no_grad():
        expected = torch.stack([module.eval()(X) for module in modules])
    torch.testing.assert_close(stack.logits(X), expected)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("at_once", [0, 5])
def test_gradients_are_those_of_finite_differences(several: bool, at_once: int) -> None:
    X, Y = some(9, 4, 6, 3, several=several)
    generator = torch.Generator().manual_seed(3)
    first = AttentiveStack.drawn(Shape(2, 3, 6, 3), generator, CPU, torch.float64)
    parameters = Parameters(
        *(each + 0.3 * torch.randn(each.shape, generator=generator) for each in first.parameters.every)
    )

    def losses(*tensors: Tensor) -> Tensor:
        stack = AttentiveStack(Parameters(*tensors), torch.zeros(2, 6).double(), torch.ones(2, 6).double())
        return stack.step(X, Y, several=several, at_once=at_once)[0]

    stack = AttentiveStack(parameters, torch.zeros(2, 6).double(), torch.ones(2, 6).double())
    _, gradients = stack.step(X, Y, several=several, at_once=at_once)
    tensors = [*parameters.every]
    for place, gradient in enumerate(gradients.every):
        flat = tensors[place].view(-1)
        for entry in range(0, len(flat), 5):
            value, found = float(flat[entry]), []
            for sign in (1, -1):
                flat[entry] = value + sign * 1e-6
                found.append(losses(*tensors).sum())
            flat[entry] = value
            assert float(found[0] - found[1]) / 2e-6 == pytest.approx(
                float(gradient.view(-1)[entry]), rel=1e-5, abs=1e-8
            )


def test_16_bit_features_give_nearly_the_same_gradients() -> None:
    X, y = some(40, 9, 16, 4)
    generator = torch.Generator().manual_seed(0)
    stack = AttentiveStack.drawn(Shape(2, 4, 16, 4), generator, CPU, torch.float32)
    exact = stack.step(X.float(), y, several=False)[1]
    for found, expected in zip(stack.step(X.half(), y, several=False)[1].every, exact.every, strict=True):
        assert (found - expected).norm() < 5e-3 * expected.norm()


def test_a_setting_that_diverges_leaves_the_others_alone() -> None:
    X, y = some()
    images, wild = images_of(X, y), AttentiveProtocol(queries=4, rates=(1.0, 1e30), decays=(0.0,), epochs=5, batch=16)
    both = fit_attentive(images, torch.arange(50), 3, wild.settings, wild, torch.Generator().manual_seed(0))
    alone = fit_attentive(images, torch.arange(50), 3, wild.settings[:1], wild, torch.Generator().manual_seed(0))
    torch.testing.assert_close(both.only(0).logits(X), alone.logits(X))
    assert not bool(both.only(1).logits(X).isfinite().all())
    chosen = choose_attentive(images, (torch.arange(30), torch.arange(30, 50)), 3, "top1", wild)
    assert chosen.setting == (1.0, 0.0)
    assert chosen.validation[1] is None


@pytest.mark.parametrize("metric", ["top1", "mean-per-class"])
def test_the_best_setting_is_trained_again_on_all_images(metric: str) -> None:
    X, y = some(200, 6, 12, 3)
    images = images_of(X, y, torch.float32)
    protocol = AttentiveProtocol(queries=4, epochs=1, batch=50, least_steps=60, rates=(3.0, 10.0))
    parts = torch.arange(100), torch.arange(100, 150)
    chosen = choose_attentive(images, parts, 3, metric, protocol, seed=1)  # type: ignore[arg-type]
    assert len(chosen.validation) == len(protocol.settings) == 4
    scores = [-1.0 if each is None else each for each in chosen.validation]
    assert chosen.setting == protocol.settings[scores.index(max(scores))]
    rest = images_of(X[150:], y[150:], torch.float32)
    accuracy = float((scores_of_all(chosen.stack, rest).argmax(dim=1) == y[150:]).float().mean())
    assert accuracy > 0.8
    again = choose_attentive(images, parts, 3, metric, protocol, seed=1)  # type: ignore[arg-type]
    assert torch.equal(scores_of_all(again.stack, rest), scores_of_all(chosen.stack, rest))


def test_numbers_of_queries_that_do_not_divide_are_refused() -> None:
    refuse_queries(768, 32, "a backbone")
    for channels, queries, near in ((1000, 32, ("25", "40")), (6, 4, ("3", "6")), (7, 32, ("7",))):
        with pytest.raises(UserError) as error:
            refuse_queries(channels, queries, "a backbone")
        assert all(f" {number}" in str(error.value) for number in near)


def test_memory_grows_with_the_features_only_if_they_are_kept() -> None:
    size = PatchSize(100_000, 196, 5_000, 196, 768, 1_000)
    large, few = (demand(replace(size, images=images), AttentiveProtocol(), 2) for images in (100_000, 10_000))
    assert large.kept - few.kept == 90_000 * 196 * 768 * 2
    assert large.read == few.read < 10e9
    assert 100 < images_at_once(Shape(8, 32, 768, 1_000), 196, 2) < 10_000
