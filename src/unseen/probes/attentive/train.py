"""Training attentive probes with all settings of a grid at once, each batch of features read once for all."""

from collections.abc import Callable, Iterator, Sequence
from math import cos, pi

import torch
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.attentive.data import LabelledImages
from unseen.probes.attentive.lars import Lars
from unseen.probes.attentive.protocol import AttentiveProtocol, Setting
from unseen.probes.attentive.stack import AttentiveStack, Shape
from unseen.probes.patches.patch_probe import Demand, PatchSize

WORKSPACE = 1 << 32
"""Bytes for attention and pooled patches of the images that are computed together."""
REFERENCE_BATCH = 256
"""Base rates are of batches of this size."""
HELD = 3
"""Copies of attention, and of pooled patches, at the same time."""


def fit_attentive(
    images: LabelledImages,
    index: Tensor,
    classes: int,
    settings: Sequence[Setting],
    protocol: AttentiveProtocol,
    generator: Generator,
    *,
    watch: Callable[[int, Tensor], None] = lambda step, losses: None,
) -> AttentiveStack:
    """Train a probe for each setting on some images; those that diverge have values that are not finite.

    Args:
        index: the images to train on.
        generator: for initial values and the order of images, on the CPU.
        watch: called with the number of every step and the (K,) losses before it.
    """
    batch, steps = min(protocol.batch, len(index)), protocol.steps(len(index))
    shape = Shape(len(settings), protocol.queries, images.channels, classes)
    dtype = torch.float64 if images.rows.dtype == torch.float64 else torch.float32
    stack = AttentiveStack.drawn(shape, generator, images.device, dtype)
    optimiser = Lars(
        stack.parameters, settings, scale=batch / REFERENCE_BATCH, momentum=protocol.momentum, trust=protocol.trust
    )
    at_once = images_at_once(shape, images.patches, images.rows.dtype.itemsize)
    for step, (X, Y) in enumerate(images.batches(batches(index, batch, steps, generator))):
        losses, gradients = stack.step(X, Y, several=images.several, at_once=at_once)
        watch(step, losses)
        optimiser.step(gradients, rate_factor(step, steps, protocol.warm_up))
    return stack


def batches(index: Tensor, batch: int, steps: int, generator: Generator) -> Iterator[Tensor]:
    """The images of each step; every epoch has a new order and drops an incomplete batch."""
    epoch = len(index) // batch
    for first in range(0, steps, epoch):
        order = index[torch.randperm(len(index), generator=generator)]
        yield from torch.split(order[: min(epoch, steps - first) * batch], batch)


def rate_factor(step: int, steps: int, warm_up: float) -> float:
    """Factor on the rates: a linear increase from 0, then half a cosine down to 0."""
    done = step / steps
    return done / warm_up if done < warm_up else 0.5 * (1 + cos(pi * (done - warm_up) / (1 - warm_up)))


def images_at_once(shape: Shape, patches: int, item: int) -> int:
    """Number of images whose attention is computed together."""
    return max(1, WORKSPACE // _image_bytes(shape, patches, item))


def _image_bytes(shape: Shape, patches: int, item: int) -> int:
    return HELD * shape.settings * shape.queries * (patches + shape.channels) * item


def demand(size: PatchSize, protocol: AttentiveProtocol, item: int) -> Demand:
    """Device memory of `fit_attentive` with features of `item` bytes per number."""
    shape = Shape(len(protocol.settings), protocol.queries, size.channels, size.codes)
    batch = min(protocol.batch, size.images)
    row = size.positions * size.channels * item
    together = min(batch, images_at_once(shape, size.positions, item))
    head = shape.settings * batch * 4 * (8 * size.channels + 4 * size.codes)
    parameters = shape.settings * size.channels * (shape.queries + size.channels + size.codes) * 4 * 6
    work = together * _image_bytes(shape, size.positions, item) + head + parameters + batch * row
    return Demand(size.images * row + work, 3 * batch * row + work)


def predicted(stack: AttentiveStack, images: LabelledImages, index: Tensor) -> Iterator[Tensor]:
    """(K, b, c) logits of some images, a few at a time."""
    at_once = max(1, images_at_once(stack.shape, images.patches, images.rows.dtype.itemsize) // 2)
    for X, _ in images.batches(iter(torch.split(index, min(at_once, SCORED)))):
        yield stack.logits(X)


SCORED = 256
"""Images that are scored together at most."""


def refuse_queries(channels: int, queries: int, named: str) -> None:
    """Refuse a number of queries that does not divide the width of patches."""
    if channels % queries == 0:
        return
    divisors = [each for each in range(1, channels + 1) if channels % each == 0]
    near = [max(each for each in divisors if each < queries), *(each for each in divisors if each > queries)][:2]
    raise UserError(
        f"{named}: its patches have {channels:,} dimensions, which {queries} queries do not divide; take "
        f"{' or '.join(map(str, near))} (attentive.queries)"
    )
