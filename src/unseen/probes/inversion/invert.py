"""Images whose features equal given ones: min over θ of ‖f(g_θ(z)) − f(I)‖², with g a skip network and z fixed noise.

Images are optimised side by side (`SkipNetworks`): the loss is the sum of theirs, so that each has the same gradient,
and with Adam the same trajectory, as on its own. Nothing is drawn after the start, so that a run resumed from its
checkpoint ends at the same result: bit-identical on one CPU thread; on a GPU the order of some sums varies.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.backbones.backbone import Backbone, device_of
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.features.forward import AUTOCAST, normalised, products
from unseen.probes.finetuning.replay import Replay
from unseen.probes.finetuning.training_state import TrainingState
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.inversion.skip_network import SkipNetworks

EVERY = 100
"""Steps between checks of the loss."""
SAVED_EVERY = 60.0
"""Minimum seconds between checkpoints: one of 16 images at 224 pixels is 400 MB."""

SHARED_SIDE = 64
"""Image side in pixels from which several CPU threads share its products; below, they would wait for each other."""
Precision = Literal["single", "bfloat"]
"""Exact 32 bits; or bfloat16 in the backbone where that is safe, and PyTorch's default 32-bit products in the prior."""
Watch = Callable[[int, float], None]
"""Called with the number of steps done and the mean loss of the images."""


class DivergedError(UserError):
    """Values of one of the images, given by its index, are not finite."""

    def __init__(self, place: int, sentence: str) -> None:
        super().__init__(sentence)
        self.place = place


@dataclass(frozen=True, eq=False)
class Inverted:
    """Reconstructions.

    Attributes:
        images: (n, size, size, 3) bytes, RGB.
        losses: (n, checks) mean squared error of each image's features, at every 100th step and at the last, before
            its update and before clamping.
        final_losses, clamped_losses: (n,) the same after the last update: of the network's output, whose colours may be
            out of range, and of `images`, which are clamped and rounded.
        scales: (n,) mean square of the target features, for comparison with the losses.
    """

    images: NDArray[np.uint8]
    losses: NDArray[np.float32]
    final_losses: NDArray[np.float32]
    clamped_losses: NDArray[np.float32]
    scales: NDArray[np.float32]


def invert(
    backbone: Backbone,
    pixels: NDArray[np.uint8],
    protocol: InversionProtocol,
    *,
    seed: int = 0,
    precision: Precision = "single",
    checkpoint: Path | None = None,
    saved_every: float = SAVED_EVERY,
    every: int = EVERY,
    watch: Watch = lambda step, loss: None,
) -> Inverted:
    """Reconstruct images from their features, starting from the checkpoint if there is one.

    Args:
        backbone: normalised images → (n, d) features of positions, as from `load_backbone(…, patches=True)`.
        pixels: (n, size, size, 3) bytes, as made by the backbone's transform.
        watch: called at every check of the loss.
    """
    stack = InversionStack(backbone, pixels, protocol, precision, seed)
    decides = [asdict(stack.protocol), seed, precision, every, asdict(backbone.spec)]
    identity = json.dumps([*decides, hashlib.sha256(pixels.tobytes()).hexdigest()])
    state = TrainingState(stack.networks, stack.optimizer, torch.amp.GradScaler("cpu", enabled=False), identity)
    step, flat, _ = state.load(checkpoint, stack.noise.device) if checkpoint else (0, [], 0)
    losses = [list(flat[start : start + len(pixels)]) for start in range(0, len(flat), len(pixels))]
    saved, steps = time.monotonic(), stack.protocol.steps
    with stack.arithmetic():
        while step < steps:
            for _ in range(min(every, steps - step)):
                latest = stack.step()
                step += 1
            losses.append(latest.tolist())
            _refuse_diverged(latest, f"before step {step}")
            watch(step, float(np.mean(losses[-1])))
            if checkpoint and time.monotonic() - saved >= saved_every and step < steps:
                state.save(checkpoint, step, [value for row in losses for value in row], 0)
                saved = time.monotonic()
        with torch.no_grad():
            drawn = stack.images()
            final = stack.losses(drawn)
            _refuse_diverged(final, "in its last step")
            pictures = as_pixels(drawn, backbone.spec.transform)
            clamped = stack.losses(normalised(pictures, backbone.spec.transform))
    scales = stack.targets.square().mean(dim=1)
    ends = (each.cpu().numpy() for each in (final, clamped, scales))
    return Inverted(pictures.cpu().numpy(), np.array(losses, np.float32).T, *ends)


def _refuse_diverged(losses: Tensor, when: str) -> None:
    for place in (~losses.isfinite()).nonzero().flatten().tolist():
        raise DivergedError(place, f"its reconstruction diverged {when}")


class InversionStack:
    """Networks that are optimised together, and one step of them, which a GPU replays from a recorded graph.

    Attributes:
        protocol: at the size of the images.
        targets: (n, d) target features.
        noise: (1, channels, side, side), the input of all networks.
        step: one update of all networks; returns the (n,) losses before it.
    """

    def __init__(
        self,
        backbone: Backbone,
        pixels: NDArray[np.uint8],
        protocol: InversionProtocol,
        precision: Precision = "single",
        seed: int = 0,
    ) -> None:
        device, size = device_of(backbone.module), backbone.spec.transform.size
        on_gpu = device.type == "cuda"
        self.backbone, self.precision, self.protocol = backbone, precision, protocol.at_size(size)
        with self.arithmetic(), torch.no_grad():
            self.targets = self._features(normalised(torch.from_numpy(pixels).to(device), backbone.spec.transform))
        for place in (~self.targets.isfinite().all(dim=1)).nonzero().flatten().tolist():
            raise DivergedError(place, "its features are not all finite numbers")
        self.networks = SkipNetworks(self.protocol, len(pixels), seed=seed).to(device)
        side, generator = self.protocol.noise_side(size), torch.Generator().manual_seed(seed)
        noise = torch.rand(1, protocol.noise, side, side, generator=generator)
        self.noise = (protocol.amplitude * noise).to(device)
        self.optimizer = torch.optim.Adam(
            self.networks.parameters(), protocol.rate, capturable=on_gpu, fused=on_gpu or None
        )
        self.step: Callable[[], Tensor] = Replay(self._step, self.networks, device) if on_gpu else self._step

    @contextmanager
    def arithmetic(self) -> Iterator[None]:
        """The arithmetic of products during the optimisation."""
        exact, threads = self.precision == "single", torch.get_num_threads()
        if self.backbone.spec.transform.size < SHARED_SIDE:
            torch.set_num_threads(1)
        try:
            with products(self.precision), torch.backends.cudnn.flags(True, benchmark=True, allow_tf32=not exact):
                yield
        finally:
            torch.set_num_threads(threads)

    def wait(self) -> None:
        """Wait until the device is done."""
        if self.noise.is_cuda:
            torch.cuda.synchronize(self.noise.device)

    def images(self) -> Tensor:
        """(n, 3, size, size): the input of the backbone."""
        transform = self.backbone.spec.transform
        output: Tensor = self.networks(self.noise)[:, :, : transform.size, : transform.size]
        if not self.protocol.sigmoid:
            return output
        mean, std = _statistics(transform, output.device)
        return (output.sigmoid() - mean) / std

    def losses(self, images: Tensor) -> Tensor:
        """(n,) mean squared errors of the features of normalised images."""
        return (self._features(images) - self.targets).square().mean(dim=1)

    def _step(self) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        losses = self.losses(self.images())
        losses.sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return losses.detach()

    def _features(self, images: Tensor) -> Tensor:
        kind = AUTOCAST.get(self.precision)
        with torch.autocast(images.device.type, dtype=kind, enabled=kind is not None):
            features = self.backbone(images.contiguous(memory_format=torch.channels_last))
        return features.float()


def as_pixels(images: Tensor, transform: Transform) -> Tensor:
    """(n, size, size, 3) bytes, RGB, from normalised images (n, 3, size, size), clamped to the range of bytes."""
    mean, std = _statistics(transform, images.device)
    between = (images * std + mean).clamp(0, 1)
    if transform.channels == "BGR":
        between = between.flip(1)
    return between.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous()


@lru_cache(maxsize=8)
def _statistics(transform: Transform, device: torch.device) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation per channel, cached: each copy of numbers to a GPU would synchronise with it."""
    mean, std = (torch.tensor(values, device=device)[:, None, None] for values in (transform.mean, transform.std))
    return mean, std
