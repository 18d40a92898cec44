"""Heads for maps: shapes and numbers of parameters, derived by hand from the layers that the papers give."""

import pytest
import torch

from unseen.probes.dense.heads import PSPHead, PyramidPooling, UPerHead

CHANNELS = (256, 512, 1024, 2048)


def parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def block(before: int, after: int, kernel: int) -> int:
    """A convolution without a bias, and the weights and biases of its batch norm."""
    return before * after * kernel**2 + 2 * after


def test_upernet_has_the_parameters_of_its_layers() -> None:
    pooling = 4 * block(2048, 512, 1)
    top = block(2048 + 4 * 512, 512, 3)
    lateral = sum(block(before, 512, 1) for before in CHANNELS[:3])
    smooth = 3 * block(512, 512, 3)
    fuse = block(4 * 512, 512, 3)
    assert parameters(UPerHead(CHANNELS, 150)) == pooling + top + lateral + smooth + fuse + 512 * 150 + 150


def test_psp_has_the_parameters_of_its_layers() -> None:
    expected = 4 * block(2048, 512, 1) + block(4096, 512, 3) + 512 * 40 + 40
    assert parameters(PSPHead(2048, 40)) == expected


def test_shapes() -> None:
    maps = {str(n): torch.rand(2, c // 32, 32 >> n, 48 >> n) for n, c in enumerate(CHANNELS)}
    assert UPerHead([c // 32 for c in CHANNELS], 5, width=8)(maps).shape == (2, 5, 32, 48)
    assert PSPHead(16, 4, width=8)(torch.rand(2, 16, 9, 11)).shape == (2, 4, 9, 11)


def test_pooling_keeps_the_map_and_adds_means_of_parts() -> None:
    pooling = PyramidPooling(3, width=2).eval()
    x = torch.rand(1, 3, 6, 6)
    with torch.no_grad():
        found = pooling(x)
    assert torch.equal(found[:, :3], x)
    assert found[:, 3:5].std(dim=(2, 3)).max() == pytest.approx(0, abs=1e-6)  # the mean over the whole map
