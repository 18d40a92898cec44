"""Reconstruction of images from features: stacks against single images and a plain loop, resuming, what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from test_skip_network import plain_parameters
from torch import Tensor, nn
from torch.nn import functional

from inversion import PlainSkip
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.probes.inversion.invert import DivergedError, InversionStack, as_pixels, invert
from unseen.probes.inversion.protocol import InversionProtocol

PROTOCOL = InversionProtocol("small", steps=12, rate=1e-2, widths=(4, 6), kernels=(5, 3), skip=2, noise=3)
TRANSFORM = Transform(size=16, resize=16, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten())
    return Backbone(Spec("tiny", "random", "last", "patches", 100, 0, TRANSFORM), body.eval().requires_grad_(False))


@pytest.fixture(scope="module")
def pixels() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)


def test_a_stack_ends_where_single_images_do(backbone: Backbone, pixels: NDArray[np.uint8]) -> None:
    together = invert(backbone, pixels, PROTOCOL, every=4)
    alone = [invert(backbone, pixels[place : place + 1], PROTOCOL, every=4) for place in range(3)]
    assert together.losses.shape == (3, 3)
    np.testing.assert_allclose(together.losses, np.concatenate([each.losses for each in alone]), rtol=1e-3)
    difference = together.images.astype(int) - np.concatenate([each.images for each in alone])
    assert np.abs(difference).max() <= 1


def test_losses_are_those_of_a_plain_loop(backbone: Backbone, pixels: NDArray[np.uint8]) -> None:
    """The same first weights and noise, PyTorch's own Adam and mean squared error."""
    work = InversionStack(backbone, pixels[:1], PROTOCOL)
    network = PlainSkip(PROTOCOL)
    network.load_state_dict(plain_parameters(work.networks.state_dict(), 0, 1), strict=False)
    mean, std = (torch.tensor(values)[:, None, None] for values in (TRANSFORM.mean, TRANSFORM.std))
    target = backbone((torch.from_numpy(pixels[:1]).permute(0, 3, 1, 2) / 255 - mean) / std)
    optimizer = torch.optim.Adam(network.parameters(), lr=PROTOCOL.rate)
    for _ in range(PROTOCOL.steps):
        optimizer.zero_grad()
        loss = functional.mse_loss(backbone(network(work.noise)), target)
        loss.backward()
        optimizer.step()
    found = invert(backbone, pixels[:1], PROTOCOL)
    assert found.losses[0, -1] == pytest.approx(loss.item(), rel=1e-3)
    shown = ((network(work.noise)[0] * std + mean).clamp(0, 1) * 255).round().permute(1, 2, 0).detach().numpy()
    assert np.abs(shown - found.images[0]).max() <= 1
    assert found.scales[0] == pytest.approx(float(target.square().mean()), rel=1e-5)


def test_the_errors_before_and_after_clamping_are_both_given(backbone: Backbone, pixels: NDArray[np.uint8]) -> None:
    """Against the backbone itself, on what the network drew and on the picture that is shown."""
    hot = replace(PROTOCOL, rate=0.3)  # so that much is outside of black and white
    found = invert(backbone, pixels, hot)
    mean, std = (torch.tensor(values)[:, None, None] for values in (TRANSFORM.mean, TRANSFORM.std))

    def features(images: NDArray[np.uint8]) -> Tensor:
        return backbone((torch.from_numpy(images).permute(0, 3, 1, 2) / 255 - mean) / std)

    clamped = (features(found.images) - features(pixels)).square().mean(dim=1)
    np.testing.assert_allclose(found.clamped_losses, clamped, rtol=1e-4)
    assert not np.allclose(found.clamped_losses, found.final_losses, rtol=0.01)
    # One step more starts from the final output, whose loss it reports before its update.
    further = invert(backbone, pixels, replace(hot, steps=PROTOCOL.steps + 1), every=PROTOCOL.steps + 1)
    np.testing.assert_allclose(found.final_losses, further.losses[:, -1], rtol=1e-3)


def test_an_output_that_is_not_finite_is_refused(
    backbone: Backbone, pixels: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, calls = InversionStack.images, list[int]()

    def last_is_broken(self: InversionStack) -> Tensor:
        calls.append(1)
        return drawn(self) * (torch.nan if len(calls) > PROTOCOL.steps else 1)

    monkeypatch.setattr(InversionStack, "images", last_is_broken)
    with pytest.raises(DivergedError, match="diverged"):
        invert(backbone, pixels, PROTOCOL)


class KilledError(Exception):
    pass


def _killed_at(last: int) -> Callable[[int, float], None]:
    def watch(step: int, loss: float) -> None:
        if step == last:
            raise KilledError

    return watch


@pytest.mark.parametrize("died", [4, 8])
def test_resuming_ends_at_the_same_bits(
    backbone: Backbone, pixels: NDArray[np.uint8], tmp_path: Path, died: int
) -> None:
    torch.set_num_threads(1)
    whole = invert(backbone, pixels, PROTOCOL, every=4)
    path = tmp_path / "stack.pt"
    with pytest.raises(KilledError):
        invert(backbone, pixels, PROTOCOL, every=2, checkpoint=path, saved_every=0, watch=_killed_at(died + 2))
    steps = []
    resumed = invert(
        backbone, pixels, PROTOCOL, every=2, checkpoint=path, saved_every=0, watch=lambda step, _: steps.append(step)
    )
    assert steps == list(range(died + 2, 13, 2))
    assert np.array_equal(resumed.images, whole.images)
    assert np.array_equal(resumed.losses[:, 1::2], whole.losses)


def test_a_checkpoint_of_other_images_is_refused(backbone: Backbone, pixels: NDArray[np.uint8], tmp_path: Path) -> None:
    path = tmp_path / "stack.pt"
    with pytest.raises(KilledError):
        invert(backbone, pixels, PROTOCOL, every=2, checkpoint=path, saved_every=0, watch=_killed_at(4))
    with pytest.raises(UserError, match="another"):
        invert(backbone, pixels[::-1].copy(), PROTOCOL, every=2, checkpoint=path)


def test_more_steps_come_closer(backbone: Backbone, pixels: NDArray[np.uint8]) -> None:
    found = invert(backbone, pixels, replace(PROTOCOL, steps=36), every=6)
    assert (found.losses[:, -1] < 0.5 * found.losses[:, 0]).all()


def test_a_sigmoid_keeps_the_image_between_black_and_white(backbone: Backbone, pixels: NDArray[np.uint8]) -> None:
    work = InversionStack(backbone, pixels[:2], replace(PROTOCOL, sigmoid=True))
    mean, std = (torch.tensor(values)[:, None, None] for values in (TRANSFORM.mean, TRANSFORM.std))
    between = (work.images() * std + mean).detach()
    assert 0 <= float(between.min()) < float(between.max()) <= 1
    raw = work.networks(work.noise).detach()
    torch.testing.assert_close(between, raw.sigmoid(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels", ["RGB", "BGR"])
def test_pixels_come_back_from_normalised_images(pixels: NDArray[np.uint8], channels: Literal["RGB", "BGR"]) -> None:
    from unseen.features.forward import normalised

    transform = replace(TRANSFORM, channels=channels)
    assert np.array_equal(as_pixels(normalised(torch.from_numpy(pixels), transform), transform).numpy(), pixels)


def test_bfloat_is_near(backbone: Backbone, pixels: NDArray[np.uint8]) -> None:
    exact, near = invert(backbone, pixels, PROTOCOL), invert(backbone, pixels, PROTOCOL, precision="bfloat")
    np.testing.assert_allclose(near.losses[:, -1], exact.losses[:, -1], rtol=0.1)


def test_features_that_are_not_finite_are_refused(pixels: NDArray[np.uint8]) -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, images: Tensor) -> Tensor:
            return torch.stack(
                [image.flatten()[:4] * (torch.nan if place else 1) for place, image in enumerate(images)]
            )

    backbone = Backbone(Spec("broken", "random", "last", "patches", 4, 0, TRANSFORM), Broken())
    with pytest.raises(DivergedError, match="finite") as raised:
        invert(backbone, pixels, PROTOCOL)
    assert raised.value.place == 1
