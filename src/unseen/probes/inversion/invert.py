"""Images whose features equal given ones: min over θ of ‖f(g_θ(z)) − f(I)‖², g a skip network, z fixed noise.

Images are optimised side by side (`SkipNetworks`): the loss is the sum of theirs, so that each has the gradient, and
with Adam the course, that it would have alone. Nothing is drawn after the start, so that a run that continues from its
checkpoint ends where an unbroken one does: to the bit on one CPU thread; a GPU adds some sums in an order of its own.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.forward import AUTOCAST, normalised, products
from unseen.images.transform import Transform
from unseen.probes.finetuning.replay import Replay
from unseen.probes.finetuning.training_state import TrainingState
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.inversion.skip_network import SkipNetworks

EVERY = 100
"""Steps between looks at the loss."""
SAVED_EVERY = 60.0
"""Seconds between checkpoints at the least: one of 16 images at 224 pixels is 400 MB."""

Precision = Literal["single", "bfloat"]
"""32 exact bits; or bfloat16 in the backbone where that is safe, and in the prior 32 as PyTorch multiplies them."""
Watch = Callable[[int, float], None]
"""Told how many steps are done, and the mean loss of the images."""


@dataclass(frozen=True, eq=False)
class Inverted:
    """Reconstructions.

    Attributes:
        images: (n, size, size, 3) bytes, RGB.
        losses: (n, looks) mean squared error of each image's features, at every 100th step and at the last.
        scales: (n,) mean square of the features that were to be met, to compare losses with.
    """

    images: NDArray[np.uint8]
    losses: NDArray[np.float32]
    scales: NDArray[np.float32]


def invert(
    backbone: Backbone,
    pixels: NDArray[np.uint8],
    protocol: InversionProtocol,
    *,
    names: Sequence[str] = (),
    seed: int = 0,
    precision: Precision = "single",
    checkpoint: Path | None = None,
    saved_every: float = SAVED_EVERY,
    every: int = EVERY,
    watch: Watch = lambda step, loss: None,
) -> Inverted:
    """Reconstruct images from their features, from the checkpoint on where there is one.

    Args:
        backbone: normalised images → (n, d) features of positions, as `load_backbone(…, patches=True)` gives; its
            parameters need no gradients.
        pixels: (n, size, size, 3) bytes, as the backbone's transform makes them.
        names: of the images, for messages.
        watch: called at every look at the loss.
    """
    device = next(iter(backbone.module.parameters())).device
    transform = backbone.spec.transform
    protocol = protocol.at_size(transform.size)
    exact = precision == "single"
    with products(precision), torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=not exact):
        targets = _targets(backbone, torch.from_numpy(pixels).to(device), precision, names)
        work = _Stack(backbone, targets, protocol, precision, seed)
        digest = hashlib.sha256(pixels.tobytes()).hexdigest()
        identity = json.dumps([asdict(protocol), seed, precision, every, asdict(backbone.spec), digest])
        state = TrainingState(work.networks, work.optimizer, torch.amp.GradScaler("cpu", enabled=False), identity)
        step, flat, _ = state.load(checkpoint, device) if checkpoint else (0, [], 0)
        losses = [list(flat[start : start + len(pixels)]) for start in range(0, len(flat), len(pixels))]
        saved = time.monotonic()
        while step < protocol.steps:
            for _ in range(min(every, protocol.steps - step)):
                latest = work.step()
                step += 1
            losses.append(latest.tolist())
            _refuse_divergence(losses[-1], names, backbone)
            watch(step, float(np.mean(losses[-1])))
            if checkpoint and time.monotonic() - saved >= saved_every and step < protocol.steps:
                state.save(checkpoint, step, [value for row in losses for value in row], 0)
                saved = time.monotonic()
        with torch.no_grad():
            found = as_pixels(work.images(), transform)
    return Inverted(found.cpu().numpy(), np.array(losses, np.float32).T, targets.square().mean(1).cpu().numpy())


class _Stack:
    """Networks that are optimised together, and one step of theirs, which a GPU replays from a record."""

    def __init__(
        self, backbone: Backbone, targets: Tensor, protocol: InversionProtocol, precision: Precision, seed: int
    ) -> None:
        self.backbone, self.targets, self.protocol, self.precision = backbone, targets, protocol, precision
        device = targets.device
        size = backbone.spec.transform.size
        self.networks = SkipNetworks(protocol, len(targets), seed=seed).to(device)
        side, generator = protocol.noise_side(size), torch.Generator().manual_seed(seed)
        self.noise = (protocol.amplitude * torch.rand(1, protocol.noise, side, side, generator=generator)).to(device)
        on_gpu = device.type == "cuda"
        self.optimizer = torch.optim.Adam(
            self.networks.parameters(), protocol.rate, capturable=on_gpu, fused=on_gpu or None
        )
        self.step: Callable[[], Tensor] = Replay(self._step, self.networks, device) if on_gpu else self._step

    def images(self) -> Tensor:
        """(n, 3, size, size): what the backbone is given."""
        transform = self.backbone.spec.transform
        output: Tensor = self.networks(self.noise)[:, :, : transform.size, : transform.size]
        if not self.protocol.sigmoid:
            return output
        mean, std = _statistics(transform, output.device)
        return (output.sigmoid() - mean) / std

    def _step(self) -> Tensor:
        """One update; returns the (n,) losses before it."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = (_features(self.backbone, self.images(), self.precision) - self.targets).square().mean(dim=1)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return losses.detach()


def _features(backbone: Backbone, images: Tensor, precision: Precision) -> Tensor:
    with torch.autocast(images.device.type, dtype=AUTOCAST.get(precision), enabled=precision in AUTOCAST):
        features = backbone(images.contiguous(memory_format=torch.channels_last))
    return features.float()


@torch.no_grad()
def _targets(backbone: Backbone, pixels: Tensor, precision: Precision, names: Sequence[str]) -> Tensor:
    targets = _features(backbone, normalised(pixels, backbone.spec.transform), precision)
    for row in (~targets.isfinite().all(dim=1)).nonzero():
        raise UserError(f"{backbone.label}: its features of {_name(names, int(row))} are not all finite numbers")
    return targets


def _refuse_divergence(losses: Sequence[float], names: Sequence[str], backbone: Backbone) -> None:
    for place, value in enumerate(losses):
        if not np.isfinite(value):
            raise UserError(f"{backbone.label}: the reconstruction of {_name(names, place)} diverged")


def _name(names: Sequence[str], place: int) -> str:
    return names[place] if names else f"image {place + 1}"


def as_pixels(images: Tensor, transform: Transform) -> Tensor:
    """(n, size, size, 3) bytes, RGB, of normalised images (n, 3, size, size), clamped to what bytes can hold."""
    mean, std = _statistics(transform, images.device)
    between = (images * std + mean).clamp(0, 1)
    if transform.channels == "BGR":
        between = between.flip(1)
    return between.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous()


@lru_cache(maxsize=8)
def _statistics(transform: Transform, device: torch.device) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each channel, made once: a GPU is waited for each time that numbers are copied to it."""
    mean, std = (torch.tensor(values, device=device)[:, None, None] for values in (transform.mean, transform.std))
    return mean, std
