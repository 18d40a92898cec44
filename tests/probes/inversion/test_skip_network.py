"""The deep image prior: its size, its numbers, and that networks side by side do not touch each other."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from inversion import PlainSkip
from unseen.errors import UserError
from unseen.probes.inversion.protocol import DEEP_IMAGE_PRIOR, InversionProtocol
from unseen.probes.inversion.skip_network import SkipNetworks

SMALL = InversionProtocol("small", steps=5, widths=(4, 6), kernels=(5, 3), skip=2, noise=3)
NAMES = {"down.0": "first", "down.1": "second", "up.0": "third", "up.1": "fourth"}


def test_parameters_of_the_papers_network() -> None:
    """Convolutions have weights and biases, batch norms two numbers a channel; by scale, derived by hand.

    A scale of width w with k × k kernels, c channels in and d from the scale below has a skip of 4c + 4 (and 8 for its
    norm), w(ck² + 1) + 2w and w(wk² + 1) + 2w on the way down, a norm of 2(d + 4), and w((d + 4)k² + 1) + 2w and
    w(w + 1) + 2w on the way up.
    """
    scales = [
        140 + 25_136 + 12_592 + 72 + 28_272 + 304,  # c = 32, w = 16, k = 7, d = 32
        76 + 25_184 + 50_272 + 136 + 106_720 + 1_120,  # 16, 32, 7, 64
        140 + 51_392 + 102_592 + 264 + 211_392 + 4_288,  # 32, 64, 5, 128
        268 + 205_184 + 409_984 + 264 + 422_784 + 16_768,  # 64, 128, 5, 128
        524 + 147_840 + 147_840 + 264 + 152_448 + 16_768,  # 128, 128, 3, 128
        524 + 147_840 + 147_840 + 264 + 152_448 + 16_768,  # the same
    ]
    with torch.device("meta"):
        network = SkipNetworks(DEEP_IMAGE_PRIOR, 1)
    assert sum(scales) + 3 * 16 + 3 == 2_606_763
    assert sum(each.numel() for each in network.parameters()) == 2_606_763


@pytest.mark.parametrize(
    ("size", "scales", "side"), [(224, 6, 256), (260, 6, 320), (64, 4, 64), (28, 3, 32), (7, 1, 8)]
)
def test_scales_and_noise_by_size(size: int, scales: int, side: int) -> None:
    protocol = DEEP_IMAGE_PRIOR.at_size(size)
    assert (len(protocol.widths), protocol.noise_side(size)) == (scales, side)


def test_too_small_an_image_is_refused() -> None:
    with pytest.raises(UserError, match="6 × 6"):
        DEEP_IMAGE_PRIOR.at_size(6)


def plain_parameters(state: Mapping[str, Tensor], copy: int, copies: int) -> dict[str, Tensor]:
    """One copy's share of the parameters, in the names of the plain network."""
    found = {}
    for name, value in state.items():
        parts = name.removeprefix("scales.").split(".")
        depth = parts.count("deeper")
        rest = ".".join(part for part in parts if part != "deeper")
        for ours, plain in NAMES.items():
            if rest.startswith(ours):
                rest = rest.replace(ours, f"{plain}.{depth}", 1)
        for ours in ("past", "norm"):
            if rest.startswith(ours):
                rest = rest.replace(ours, f"{ours}.{depth}", 1)
        found[rest] = value.chunk(copies)[copy]
    return found


def test_each_copy_is_the_plain_network_with_its_own_weights_and_statistics() -> None:
    networks = SkipNetworks(SMALL, 3)
    with torch.no_grad():
        for each in networks.parameters():
            each.add_(0.1 * torch.randn(each.shape, generator=torch.Generator().manual_seed(each.numel())))
    noise = torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    found = networks(noise)
    assert found.shape == (3, 3, 16, 16)
    for copy in range(3):
        plain = PlainSkip(SMALL)
        problems = plain.load_state_dict(plain_parameters(networks.state_dict(), copy, 3), strict=False)
        assert not problems.unexpected_keys
        assert all("running" in key or "tracked" in key for key in problems.missing_keys)
        torch.testing.assert_close(found[copy : copy + 1], plain(noise), rtol=1e-4, atol=1e-5)


def test_copies_start_alike_and_the_seed_decides() -> None:
    noise = torch.rand(1, 3, 16, 16)
    one, three, other = (
        SkipNetworks(SMALL, 1)(noise),
        SkipNetworks(SMALL, 3)(noise),
        SkipNetworks(SMALL, 1, seed=1)(noise),
    )
    torch.testing.assert_close(three, one.expand(3, -1, -1, -1), rtol=1e-4, atol=1e-5)
    assert (one - other).abs().max() > 0.01
