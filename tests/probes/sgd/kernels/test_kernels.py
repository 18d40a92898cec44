"""Each kernel against what its docstring says, and on a GPU against its plain twin."""

import pytest
import torch
from torch import Generator, Tensor

from unseen.probes.sgd.kernels import add_gradient, momentum_update, pair_update, softmax_gradient
from unseen.probes.sgd.kernels.layout import Layout

TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
SHAPES = pytest.mark.parametrize(("s", "k", "classes"), [(1, 1, 2), (2, 3, 45), (1, 10, 1000), (3, 2, 17)])


def randn(*shape: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed)).to(dtype)


def scored(s: int, layout: Layout, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, labels of which one is missing, and a bias that lies among other rows."""
    labels = torch.randint(layout.classes, (s, 16), generator=Generator().manual_seed(1))
    labels[0, 3] = -1
    return (
        randn(s, 16, layout.columns, seed=0, dtype=dtype),
        labels,
        randn(s, 3, layout.columns, seed=2, dtype=dtype)[:, 1],
    )


def test_a_layout_gives_every_trial_its_columns() -> None:
    layout = Layout(3, 45)
    assert layout.width == 48
    assert layout.columns == 256
    stacked = torch.arange(256)
    assert layout.split(stacked)[1].tolist() == list(range(48, 93))
    spread = layout.spread(torch.tensor([1.0, 2.0, 3.0]))
    assert spread[[0, 47, 48, 143, 144, 255]].tolist() == [1, 1, 2, 3, 0, 0]


@TYPES
@SHAPES
def test_softmax_gradient_is_that_of_cross_entropy(s: int, k: int, classes: int, dtype: torch.dtype) -> None:
    layout = Layout(k, classes)
    scores, labels, bias = scored(s, layout, dtype)
    found = scores.clone()
    softmax_gradient.softmax_gradient(found, labels, layout, scale=8.0, bias=bias)
    logits = (layout.split(scores).double() + layout.split(bias).double()[:, None]).requires_grad_()
    for trial in range(k):
        known = labels >= 0
        torch.nn.functional.cross_entropy(logits[:, :, trial][known], labels[known], reduction="sum").backward()
    assert logits.grad is not None
    atol = 1e-5 if dtype == torch.float32 else 8e-3
    assert torch.allclose(layout.split(found).double(), 8 * logits.grad, atol=atol)
    padding = found[..., : k * layout.width].view(s, 16, k, layout.width)[..., classes:]
    assert not padding.any()
    assert torch.equal(found[..., k * layout.width :], scores[..., k * layout.width :])


@pytest.mark.gpu
@TYPES
@SHAPES
def test_softmax_gradient_kernel_agrees(s: int, k: int, classes: int, dtype: torch.dtype) -> None:
    layout = Layout(k, classes)
    scores, labels, bias = (tensor.cuda() for tensor in scored(s, layout, dtype))
    bias = torch.stack([bias, bias], dim=1)[:, 1]
    for chosen in (None, bias):
        ours, plain = scores.clone(), scores.clone()
        softmax_gradient._triton(ours, labels, layout, 8.0, chosen, ours)
        softmax_gradient._plain(plain, labels, layout, 8.0, chosen, plain)
        assert torch.allclose(ours.float(), plain.float(), atol=1e-5 if dtype == torch.float32 else 8e-3)


def state(s: int, rows: int, columns: int, dtype: torch.dtype) -> list[Tensor]:
    """Copies, low halves and velocity, gradients, rates, decays, factors, scales."""
    low = randn(s, rows, columns, seed=1).to(dtype) * 0.4 if dtype == torch.float16 else torch.zeros(s, rows, columns)
    return [
        randn(2, s, rows, columns, seed=0, dtype=dtype),
        low,
        randn(s, rows, columns, seed=2),
        randn(2, s, rows, columns, seed=3, dtype=dtype),
        randn(s, columns, seed=4).abs(),
        randn(s, columns, seed=5).abs() * 0.01,
        torch.tensor([1.0, 0.9, 0.8]),
        randn(2, s, seed=6).abs(),
    ]


@TYPES
def test_pair_update_is_two_steps_of_sgd(dtype: torch.dtype) -> None:
    copies, low, velocity, gradients, rates, decays, factors, scales = state(2, 3, 128, dtype)
    weights = pair_update.join(copies[0], low).double()
    speed = velocity.double()
    for step in (0, 1):
        gradient = gradients[step].double() * scales[step].double()[:, None, None]
        speed = 0.9 * speed + gradient + decays.double()[:, None] * weights
        weights = weights - rates.double()[:, None] * factors[step].double() * speed
    ahead = weights - rates.double()[:, None] * factors[2].double() * (0.9 * speed + decays.double()[:, None] * weights)
    pair_update.pair_update(copies, low, velocity, gradients, rates, decays, factors, scales, momentum=0.9)
    assert torch.allclose(pair_update.join(copies[0], low).double(), weights, atol=2e-6, rtol=1e-6)
    assert torch.allclose(velocity.double(), speed, atol=1e-5)
    assert torch.allclose(copies[1].double(), ahead, atol=1e-5 if dtype == torch.float32 else 0.02)


@TYPES
def test_a_weight_that_would_overflow_stays(dtype: torch.dtype) -> None:
    arguments = state(1, 1, 128, dtype)
    copies, low, velocity = arguments[:3]
    velocity[0, 0, 3], velocity[0, 0, 5] = torch.nan, torch.inf
    before = pair_update.join(copies[0], low)
    pair_update.pair_update(*arguments, momentum=0.9)
    after = pair_update.join(copies[0], low)
    assert torch.equal(after[0, 0, [3, 5]], before[0, 0, [3, 5]])
    assert not velocity[0, 0, [3, 5]].isfinite().any()
    assert velocity[0, 0, :3].isfinite().all()
    assert not torch.equal(after[0, 0, :3], before[0, 0, :3])


@pytest.mark.parametrize("magnitude", [1e-4, 1e-2, 1.0, 100.0])
def test_halves_hold_as_much_as_a_float(magnitude: float) -> None:
    weights = randn(1000, seed=0) * magnitude
    high, low = torch.empty(1000, dtype=torch.float16), torch.empty(1000, dtype=torch.float16)
    pair_update.part(weights, high, low)
    assert torch.equal(high, weights.half())
    assert torch.allclose(pair_update.join(high, low), weights, rtol=2**-21, atol=1e-10)


def test_add_gradient() -> None:
    copy, gradient, rates = randn(2, 3, 128, seed=0), randn(2, 3, 128, seed=1), randn(2, 128, seed=2)
    factor, scales = torch.tensor([0.5]), torch.tensor([2.0, 3.0])
    expected = torch.stack([copy[i] - 0.5 * scales[i] * rates[i] * gradient[i] for i in (0, 1)])
    add_gradient.add_gradient(copy, gradient, rates, factor, scales)
    assert torch.allclose(copy, expected)


@pytest.mark.gpu
@TYPES
@pytest.mark.parametrize(("s", "rows"), [(1, 1), (2, 30), (1, 2056)])
def test_update_kernels_agree(s: int, rows: int, dtype: torch.dtype) -> None:
    arguments = [tensor.cuda() for tensor in state(s, rows, 256, dtype)]
    arguments[2][0, 0, 3] = torch.nan
    ours, plain = ([tensor.clone() for tensor in arguments] for _ in range(2))
    pair_update._triton(*ours, 0.9)
    pair_update._plain(*plain, 0.9)
    joined = [pair_update.join(one[0][0], one[1]) for one in (ours, plain)]
    assert torch.allclose(joined[0], joined[1], atol=3e-6)
    assert torch.allclose(ours[2], plain[2], atol=1e-5, equal_nan=True)
    assert torch.allclose(
        ours[0].float(), plain[0].float(), atol=1e-5 if dtype == torch.float32 else 0.02, equal_nan=True
    )
    copy = arguments[0]
    ones = [copy[1].clone(), copy[1].clone()]
    rest = (arguments[3][0], arguments[4], arguments[6][:1], arguments[7][0])
    add_gradient._triton(ones[0], *rest)
    add_gradient._plain(ones[1], *rest)
    assert torch.allclose(ones[0].float(), ones[1].float(), atol=1e-5 if dtype == torch.float32 else 0.02)


def test_a_gradient_may_be_written_elsewhere_in_another_dtype() -> None:
    layout = Layout(3, 45)
    scores, labels, bias = scored(1, layout, torch.float32)
    there, out = scores.clone(), torch.zeros_like(scores, dtype=torch.float16)
    softmax_gradient.softmax_gradient(scores, labels, layout, scale=8.0, bias=bias, out=out)
    assert torch.equal(scores, there)
    softmax_gradient.softmax_gradient(there, labels, layout, scale=8.0, bias=bias)
    assert torch.equal(layout.split(out), layout.split(there).half())


def moving(layout: Layout, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weights, in halves if they are 16-bit numbers, with velocities of which some are not finite or too large."""
    weights, velocity = (randn(12, layout.columns, seed=seed) for seed in (0, 1))
    velocity[2, 5], velocity[3, 7], velocity[4, 9] = torch.inf, torch.nan, 1e38
    high, low = weights.to(dtype), torch.zeros(0, 0, dtype=dtype)
    if dtype == torch.float16:
        low = torch.zeros_like(high)
        pair_update.part(weights, high, low)
    return high, low, velocity, layout.spread(torch.tensor([1.0, 0.1, 10.0]))


def joined(high: Tensor, low: Tensor) -> Tensor:
    return pair_update.join(high, low) if len(low) else high


@TYPES
def test_momentum_update_moves_weights_by_their_velocity(dtype: torch.dtype) -> None:
    layout = Layout(3, 45)
    high, low, velocity, rates = moving(layout, dtype)
    expected = joined(high, low).double() - rates.double() * velocity.double()
    momentum_update.momentum_update(high, low, velocity, rates)
    fine = velocity.isfinite() & joined(high, low).isfinite()
    limit = torch.finfo(dtype).max
    assert torch.equal(fine, expected.abs() <= limit)
    assert torch.allclose(joined(high, low)[fine].double(), expected[fine], atol=1e-6, rtol=1e-6)


@pytest.mark.gpu
@TYPES
def test_momentum_update_kernel_agrees(dtype: torch.dtype) -> None:
    ours, plain = ([each.cuda() for each in moving(Layout(3, 45), dtype)] for _ in range(2))
    momentum_update._triton(*ours)
    momentum_update._plain(*plain)
    fine = [each[2].isfinite() & joined(each[0], each[1]).isfinite() for each in (ours, plain)]
    assert torch.equal(*fine)
    assert torch.allclose(joined(ours[0], ours[1])[fine[0]], joined(plain[0], plain[1])[fine[0]], atol=1e-6)
