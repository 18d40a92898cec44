"""Parameters and multiply-adds: counted by hand, by PyTorch's own counter, and as published."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.counting import count
from unseen.data.core.decoding.transform import Transform

SIZE = 16


def backbone(module: nn.Module, parameters: int = 7) -> Backbone:
    spec = Spec("file.py:net", "none", "output", "none", 4, parameters, Transform(SIZE, None))
    return Backbone(spec, module.eval())


class Convolutions(nn.Module):
    """Two convolutions, one of them grouped, a norm, and a layer that features do not need."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, groups=4)
        self.norm, self.unused = nn.BatchNorm2d(8), nn.Linear(8, 1000)

    def forward(self, images: Tensor) -> Tensor:
        return self.norm(self.second(torch.relu(self.first(images)))).mean((2, 3))


class Attention(nn.Module):
    """Patches of four pixels, self-attention over them, and one layer that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 12, 4, stride=4)
        self.attention, self.twice = nn.MultiheadAttention(12, 3, batch_first=True), nn.Linear(12, 12, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        tokens = self.attention(tokens, tokens, tokens, need_weights=False)[0]
        return self.twice(self.twice(tokens)).mean(1)


def test_convolutions_by_hand() -> None:
    found = count(backbone(Convolutions()))
    assert found.parameters == (3 * 9 * 8 + 8) + (2 * 9 * 8 + 8) + 2 * 8  # without the unused layer
    assert found.multiply_adds == SIZE * SIZE * 8 * 3 * 9 + 7 * 7 * 8 * 2 * 9
    assert found.uncounted == ""


def test_attention_by_hand_and_a_shared_layer_once() -> None:
    fast = torch.backends.mha.get_fastpath_enabled()
    found = count(backbone(Attention()))
    tokens, width = 16, 12
    assert found.parameters == (3 * 16 * 12 + 12) + (3 * 12 * 12 + 3 * 12) + (12 * 12 + 12) + 12 * 12
    attention = 4 * tokens * width * width + 2 * tokens * tokens * width
    assert found.multiply_adds == tokens * 3 * 16 * width + attention + 2 * tokens * width * width
    assert torch.backends.mha.get_fastpath_enabled() == fast


def test_as_many_as_the_counter_of_pytorch() -> None:
    module = Convolutions().eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(torch.zeros(1, 3, SIZE, SIZE))
    assert count(backbone(module)).multiply_adds == counter.get_total_flops() // 2


def test_counting_changes_nothing() -> None:
    module = Convolutions().eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    state = torch.random.get_rng_state()
    with torch.inference_mode():  # as where features are computed
        assert count(backbone(module)) == count(backbone(module))
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), state)


class Elsewhere(nn.Module):
    """A network whose products NumPy computes."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.from_numpy(images.flatten(1).numpy() @ torch.ones(3 * SIZE * SIZE, 4).numpy())


class Recurrent(nn.Module):
    """A network that refuses to be watched."""

    def forward(self, images: Tensor) -> Tensor:
        raise ValueError("no images of zeros, please")


@pytest.mark.parametrize("module", [Elsewhere(), Recurrent()])
def test_what_cannot_be_counted_is_not_zero(module: nn.Module) -> None:
    found = count(backbone(module, parameters=3072))
    assert (found.parameters, found.multiply_adds) == (3072, None)
    assert found.uncounted


@pytest.mark.long_suite
@pytest.mark.parametrize(
    ("name", "parameters", "billions"),
    [
        # He et al. 2016 as torchvision ships it: 4.09; Touvron et al. 2021: 4.6; Liu et al. 2022: 4.5.
        ("torchvision:resnet50", 25_557_032 - 2_049_000, 4.09),
        ("timm:vit_small_patch16_224", 22_050_664 - 385_000, 4.6),
        ("timm:convnext_tiny", 28_589_128 - 769_000, 4.5),
        ("torchvision:vit_b_16", 86_567_656 - 769_000, 17.56),
    ],
)
def test_published_numbers(name: str, parameters: int, billions: float) -> None:
    from unseen.backbones.load import load_backbone

    pytest.importorskip(name.partition(":")[0])
    found = count(load_backbone(name, weights="random"))
    assert found.parameters == parameters  # without the classifier of 1,000 classes
    assert found.multiply_adds is not None
    assert found.multiply_adds / 1e9 == pytest.approx(billions, rel=0.02)


@pytest.mark.long_suite
def test_an_earlier_layer_costs_less() -> None:
    from unseen.backbones.load import load_backbone

    pytest.importorskip("timm")
    whole, early = (count(load_backbone("timm:resnet18", weights="random", **of)) for of in ({}, {"layer": "layer2"}))
    assert early.parameters < whole.parameters / 10
    assert early.multiply_adds is not None
    assert whole.multiply_adds is not None
    assert early.multiply_adds < 0.7 * whole.multiply_adds


def test_an_operation_without_a_formula_is_named() -> None:
    @torch.library.custom_op("unseen_tests::scaled", mutates_args=())
    def scaled(images: Tensor) -> Tensor:
        return 2 * images

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, images: Tensor) -> Any:
            return scaled(self.conv(images)).mean((2, 3))

    found = count(backbone(Own()))
    assert (found.parameters, found.multiply_adds) == (16, None)
    assert "unseen_tests::scaled" in found.uncounted


class After(nn.Module):
    """A convolution with 12 products per pixel, a mean over pixels, and what is done with its four values."""

    def __init__(self, then: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv, self.then = nn.Conv2d(3, 4, 1), then

    def forward(self, images: Tensor) -> Tensor:
        return self.then(self.conv(images).mean((2, 3)))


@pytest.mark.parametrize(
    ("then", "products"),
    [
        (lambda x: torch.mv(torch.ones(7, 4), x[0])[None], 28),
        (lambda x: x[0] @ torch.ones(4, 7), 28),
        (lambda x: torch.addmv(torch.zeros(7), torch.ones(7, 4), x[0])[None], 28),
        (lambda x: torch.dot(x[0], x[0])[None, None], 4),
        (lambda x: torch.addbmm(torch.zeros(1, 7), x.expand(3, 1, 4), torch.ones(3, 4, 7)), 84),
        (lambda x: torch.zeros(3, 1, 7).baddbmm_(x.expand(3, 1, 4), torch.ones(3, 4, 7))[0], 84),
        (lambda x: torch.einsum("bi,oi->bo", x, torch.ones(7, 4)), 28),
        (lambda x: nn.functional.layer_norm(torch.relu(x), (4,)).softmax(1) * 2, 0),
        (lambda x: nn.functional.bilinear(x, x, torch.ones(5, 4, 4)), None),
        (lambda x: torch.cdist(x, torch.ones(7, 4)), None),
        (lambda x: torch.fft.rfft(x).real, None),
        (lambda x: x @ torch.matrix_exp(torch.ones(4, 4)), None),
    ],
)
def test_every_product_is_counted_or_the_number_is_unknown(
    then: Callable[[Tensor], Tensor], products: int | None
) -> None:
    found = count(backbone(After(then)))
    assert found.multiply_adds == (None if products is None else 12 * SIZE * SIZE + products)
    assert bool(found.uncounted) == (products is None)
