"""How long a training step of a network takes on this machine."""

import time
from collections.abc import Callable
from copy import deepcopy
from itertools import repeat
from typing import TYPE_CHECKING

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unseen.probes.finetuning.train import Objective

SAMPLE = 8
"""Number of images with which a step is timed on a CPU."""


def step_seconds(backbone: Backbone, batch: int, device: "torch.device") -> float:
    """Seconds of a training step, timed on a few images; on a CPU with one thread, as in training."""
    import torch

    from unseen.probes.finetuning.train import classification, with_head

    model = with_head(deepcopy(backbone.module), backbone.spec.dimension, 2, seed=0)
    size = backbone.spec.transform.size
    try:
        return measured_step(model, size, lambda images: torch.arange(images) % 2, classification, batch, device)
    except UserError as error:
        raise UserError(f"{backbone.spec.id}: {error}") from None


def measured_step(
    model: "nn.Module",
    size: int,
    targets: "Callable[[int], Tensor]",
    objective: "Objective",
    batch: int,
    device: "torch.device",
) -> float:
    """Time a training step of a network; the network is changed.

    Args:
        targets: targets of the objective, by number of images.
        batch: images per step.
    """
    import torch

    from unseen.probes.finetuning.protocol import FinetuneProtocol
    from unseen.probes.finetuning.train import finetune

    on_gpu = device.type == "cuda"
    images = batch if on_gpu else min(batch, SAMPLE)
    inputs = torch.zeros(images, size, size, 3, device=device).permute(0, 3, 1, 2)  # channels last, as in training
    steps, every = (60, 20) if on_gpu else (3, 1)
    times: list[float] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        protocol = FinetuneProtocol("measured", steps, images, rate=1e-4, decay=0.0)
        finetune(
            model,
            lambda _: repeat((inputs, targets(images))),
            protocol,
            objective=objective,
            device=device,
            every=every,
            watch=lambda _: times.append(time.perf_counter()),
        )
    finally:
        torch.set_num_threads(threads)
    if len(times) == 1:
        raise UserError("its loss is not finite on an empty image; check its preprocessing")
    seconds = (times[-1] - times[0]) / (every * (len(times) - 1))  # the first interval includes the device's setup
    return seconds * batch / images
