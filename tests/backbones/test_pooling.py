"""Positions to vectors, and the layers they come from."""

from functools import partial

import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from unseen.backbones.backbone import Pool
from unseen.backbones.forward_pass import module_step
from unseen.backbones.pooling import Layout, default_pool, layout_of, pool_positions, pooled
from unseen.errors import UserError


@examples(40)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 3), st.integers(2, 5))
def test_tokens_before_the_patches_are_left_out_of_the_mean(batch: int, side: int, registers: int, width: int) -> None:
    layout = Layout(prefix=1 + registers, class_token=True)
    patches = torch.randn(batch, side * side, width)
    first = torch.randn(batch, 1, width)
    output = torch.cat([first, torch.full((batch, registers, width), 1e6), patches], 1)
    torch.testing.assert_close(pool_positions(output, "avg", layout), patches.mean(1))
    assert torch.equal(pool_positions(output, "cls", layout), first[:, 0])
    both = pool_positions(output, "cls+avg", layout)
    torch.testing.assert_close(both, torch.cat([first[:, 0], patches.mean(1)], 1))


@pytest.mark.parametrize("channels_last", [False, True])
def test_maps(channels_last: bool) -> None:
    output = torch.randn(2, 4, 4, 7) if channels_last else torch.randn(2, 7, 4, 4)
    vector = pool_positions(output, "avg", Layout(channels_last=channels_last))
    torch.testing.assert_close(vector, output.mean((1, 2) if channels_last else (2, 3)))


@pytest.mark.parametrize(
    ("shape", "pool", "layout", "message"),
    [
        ((2, 8, 4, 4), "cls", Layout(1, True), r"\(b, 8, 4, 4\), has no class token"),
        ((2, 8, 4, 4), "cls+avg", Layout(1, True), "has no class token"),
        ((2, 8, 4, 4), "none", Layout(), "has 16 positions; pool them"),
        ((2, 17, 8), "none", Layout(1, True), "has 17 positions; pool them"),
        ((2, 16, 8), "cls", Layout(1, True), "has no class token"),  # patches only: the embedding's output
        ((2, 17, 8), "cls", Layout(1, False), "has no class token"),  # a register is none
        ((2, 15, 8), "avg", Layout(1, True), "15 tokens, which is not a square of patches"),
        ((2, 1, 8), "avg", Layout(1, True), "a class token only"),
        ((2, 8), "avg", Layout(), "one vector per image"),
        ((2, 8, 2, 2, 2), "avg", Layout(), r"\(b, 8, 2, 2, 2\), which is neither"),
    ],
)
def test_what_has_no_meaning_is_refused(shape: tuple[int, ...], pool: Pool, layout: Layout, message: str) -> None:
    with pytest.raises(UserError, match=message):
        pool_positions(torch.zeros(shape), pool, layout)


@pytest.mark.parametrize("shape", [(2, 8), (2, 8, 1, 1), (2, 1, 8)])
def test_one_position_needs_no_pooling(shape: tuple[int, ...]) -> None:
    output = torch.randn(shape)
    assert torch.equal(pool_positions(output, "none", Layout()), output.flatten(1))


@pytest.mark.parametrize(
    ("shape", "own", "expected"),
    [
        ((1, 17, 8), "cls", "cls"),
        ((1, 17, 8), "avg", "avg"),
        ((1, 17, 8), "none", "cls"),
        ((1, 16, 8), "cls", "avg"),
        ((1, 8, 4, 4), "cls", "avg"),
        ((1, 8), "avg", "none"),
    ],
)
def test_default(shape: tuple[int, ...], own: Pool, expected: Pool) -> None:
    assert default_pool(torch.zeros(shape), Layout(1, True), own) == expected


class Net(nn.Module):
    """The activation writes over the output of the convolution before it, as in many networks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.act = nn.ReLU(inplace=True)
        self.pair = nn.LSTM(4, 4, batch_first=True)
        self.unused = nn.Identity()

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.act(self.act(self.conv(images)))
        self.pair(features.flatten(2).transpose(1, 2))
        return features


def test_a_layer_is_caught_before_the_next_writes_over_it() -> None:
    net, images = Net().eval(), torch.randn(2, 3, 4, 4)
    expected = net.conv(images)
    assert (expected < 0).any()
    assert torch.equal(module_step("conv")(net, images), expected)
    mean = module_step("conv", partial(pooled, pool="avg", layout=Layout()))(net, images)
    torch.testing.assert_close(mean, expected.mean((2, 3)))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ("act", "act is run 2 times for an image, not once"),
        ("unused", "unused is run 0 times"),
        ("pair", "pair gives tuple, not one tensor"),
        ("convv", "there is no layer convv; did you mean conv?"),
        ("zzz", "there is no layer zzz; it has conv, act, pair, unused"),
    ],
)
def test_layers_that_cannot_be_taken(layer: str, message: str) -> None:
    net = Net()
    with pytest.raises(UserError, match=message):
        module_step(layer)(net, torch.zeros(1, 3, 4, 4))
    assert not any(module._forward_hooks for module in net.modules())


def test_layout_from_names() -> None:
    net = nn.Module()
    assert layout_of(net) == Layout()
    net.cls_token = nn.Parameter(torch.zeros(1, 1, 4))
    assert layout_of(net) == Layout(1, True)
    net.num_register_tokens = 4  # as in DINOv2's own code
    assert layout_of(net) == Layout(5, True)
    net.num_prefix_tokens = 3  # timm says it outright
    assert layout_of(net) == Layout(3, True)
