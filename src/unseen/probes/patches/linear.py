"""The linear probe on patch features: batch norm and a linear layer, with all settings of a sweep trained at once.

Protocol `patch-linear`: ours, after the linear probes of DINOv2 and DINOv3, from stored features without augmentation.
For each setting (learning rate, weight decay) it minimises, over patches i with their shares y of codes,

    Σᵢ wᵢ Σ_c −yᵢ_c log softmax(W zᵢ + b)_c / Σᵢ wᵢ,     z = (x − μ) / σ,

by AdamW with a cosine schedule and linear warm-up. w is the labelled share of a patch, and μ, σ are those of the
training patches: features are frozen, so the batch-norm statistics are known before training.

The K settings share the features of each batch: one product X @ [W₁ … W_K] serves all, and so does the product for
their gradients. A step takes 4·b·d·c·K flops and reads b·d features once, not K times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi

import torch
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.patches.patch_probe import Demand, PatchSize
from unseen.probes.patches.protocols import PatchLinearProtocol, Setting
from unseen.probes.patches.training import TrainingPatches
from unseen.probes.products import wide_product

BLOCK_BYTES, SUMMED = 1 << 27, 8_192
"""Bytes of features of some steps, which are brought to the device together, and patches whose sums are computed
together.
"""


@dataclass(frozen=True, eq=False)
class LinearStack:
    """K linear classifiers of patches.

    Attributes:
        weights, bias: (K, d, c) and (K, c), for unnormalised features: they include the normalisation.
    """

    weights: Tensor
    bias: Tensor

    def logits(self, X: Tensor) -> Tensor:
        """(K, n, c) logits of features (n, d)."""
        return torch.einsum("nd,kdc->knc", X.to(self.weights.dtype), self.weights) + self.bias[:, None]

    def only(self, place: int) -> "LinearStack":
        """The stack with only one of them."""
        return LinearStack(self.weights[place : place + 1], self.bias[place : place + 1])


def fit_patches(
    patches: TrainingPatches,
    index: Tensor,
    settings: Sequence[Setting],
    protocol: PatchLinearProtocol,
    generator: Generator,
) -> LinearStack:
    """Train a classifier for each setting.

    Args:
        index: the patches to train on; those without a label are left out.
        generator: for the order of patches, on the CPU.
    """
    places = patches.labelled(index)
    most = float(patches.labels.totals[places].max())
    mean, deviation = _statistics(patches, places)
    model = _Stack(patches.features.channels, patches.labels.count, settings, patches.device)
    batch, steps, step = min(protocol.batch, len(places)), protocol.steps(len(places)), 0
    at_once = _steps_at_once(batch, patches.features.channels, patches.features.dtype.itemsize)
    for block in patches.blocks(_batches(places, batch, steps, at_once, generator)):
        for X, pixels, totals in zip(*(torch.split(each, batch) for each in block), strict=True):
            z = ((X.float() - mean) / deviation).to(X.dtype)
            model.step(z, pixels / totals[:, None], totals / most, _factor(step, steps, protocol.warm_up))
            step += 1
    return model.classifiers(mean, deviation)


def demand(size: PatchSize, protocol: PatchLinearProtocol, item: int) -> Demand:
    """Device memory of `fit_patches` with features of `item` bytes per number.

    A block of patches is there while the next one is brought, in two copies if it is read, or while a step computes
    normalised features, logits, their softmax and the errors in two precisions.
    """
    batch, width = min(protocol.batch, size.patches), len(protocol.settings) * size.codes
    rows = min(_steps_at_once(batch, size.channels, item), size.patches // batch) * batch
    block = rows * (size.channels * item + 4 * size.codes)
    step = batch * (size.channels * (8 + item) + width * (12 + item % 4)) + 32 * (size.channels + 1) * width
    most = max(step, SUMMED * size.channels * (16 + item))
    kept = size.patches * size.channels * item + block + max(block, most)
    return Demand(kept, block + max(block + 2 * rows * size.channels * item, most))


def _steps_at_once(batch: int, channels: int, item: int) -> int:
    """Number of steps whose patches are brought to the device together."""
    return max(1, BLOCK_BYTES // (batch * channels * item))


def _batches(places: Tensor, batch: int, steps: int, at_once: int, generator: Generator) -> Iterator[Tensor]:
    """The patches of all steps, a few steps at a time; every epoch has a new order and drops an incomplete batch."""
    epoch = len(places) // batch
    for first in range(0, steps, epoch):
        order = places[torch.randperm(len(places), generator=generator)]
        last = min(epoch, steps - first)
        for start in range(0, last, at_once):
            yield order[start * batch : min(start + at_once, last) * batch]


def _factor(step: int, steps: int, warm_up: float) -> float:
    """Factor on the learning rate: a linear increase, then half a cosine down to 0."""
    first = max(1, int(warm_up * steps))
    if step < first:
        return (step + 1) / first
    return 0.5 * (1 + cos(pi * (step - first) / max(1, steps - first)))


def _statistics(patches: TrainingPatches, places: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each dimension over some patches, summed in double precision, block by block."""
    total = torch.zeros(2, patches.features.channels, dtype=torch.float64, device=patches.device)
    for rows in patches.features.blocks(torch.split(places, SUMMED)):
        exact = rows.double()
        total += torch.stack((exact.sum(dim=0), exact.square().sum(dim=0)))
    if not bool(total.isfinite().all()):
        raise UserError("the features of the training patches are not finite; extract them again")
    mean, square = total / len(places)
    return mean.float(), (square - mean.square()).clamp_min(0).sqrt().float().clamp_min(1e-6)


class _Stack:
    """The weights of all settings side by side, (d, K·c), and AdamW on them (Loshchilov and Hutter 2019)."""

    BETAS, EPSILON = (0.9, 0.999), 1e-8

    def __init__(self, dimension: int, codes: int, settings: Sequence[Setting], device: torch.device) -> None:
        self.shape = (dimension, len(settings), codes)
        self.weights = torch.zeros(dimension + 1, len(settings) * codes, device=device)  # the last row is the bias
        self.moments = [torch.zeros_like(self.weights) for _ in range(2)]
        self.rates, self.decays = (
            torch.tensor([setting[part] for setting in settings], device=device).repeat_interleave(codes)
            for part in range(2)
        )
        self.steps = 0

    def step(self, z: Tensor, share: Tensor, weight: Tensor, factor: float) -> None:
        """One step of all settings on a batch of patches."""
        _, settings, codes = self.shape
        logits = wide_product(z, self.weights[:-1].to(z.dtype)).add_(self.weights[-1])
        error = torch.softmax(logits.view(-1, settings, codes), dim=2).sub_(share[:, None])
        error *= (weight / weight.sum())[:, None, None]
        flat = error.view(-1, settings * codes)
        # 16-bit factors must not all be tiny: errors are scaled by the batch size and back.
        gradient = torch.empty_like(self.weights)
        gradient[:-1] = wide_product(z.T, (flat * len(z)).to(z.dtype)) / len(z)
        gradient[-1] = flat.sum(dim=0)
        self.steps += 1
        first, second = self.moments
        first.lerp_(gradient, 1 - self.BETAS[0])
        second.lerp_(gradient.square(), 1 - self.BETAS[1])
        rate = self.rates * factor
        self.weights[:-1] *= 1 - rate * self.decays
        corrected = (second / (1 - self.BETAS[1] ** self.steps)).sqrt_().add_(self.EPSILON)
        self.weights -= rate / (1 - self.BETAS[0] ** self.steps) * first / corrected

    def classifiers(self, mean: Tensor, deviation: Tensor) -> LinearStack:
        """The classifiers with the normalisation folded in: W(x − μ)/σ + b = (W/σ)x + (b − (W/σ)μ)."""
        dimension, settings, codes = self.shape
        if not bool(self.weights.isfinite().all()):
            raise UserError("the weights of a linear probe on patches are not finite after training")
        weights = self.weights[:-1] / deviation[:, None]
        bias = self.weights[-1] - mean @ weights
        return LinearStack(
            weights.view(dimension, settings, codes).permute(1, 0, 2).contiguous(), bias.view(settings, codes)
        )
