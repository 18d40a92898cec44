"""Probes on the patch features of a data set: choosing the settings, training, predicting."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from unseen.data.core.dense.labels import Kind
from unseen.errors import UserError
from unseen.probes.patches.codes import Codes
from unseen.probes.patches.linear import LinearStack, fit_patches
from unseen.probes.patches.protocols import PatchLinearProtocol, Setting
from unseen.probes.patches.training import Block, TrainingPatches

BLOCK = 16_384
"""Patches scored at once."""


@dataclass(frozen=True, eq=False)
class ChosenLinear:
    """The linear probe with the settings that were best on validation images, trained on all training images.

    Attributes:
        setting: learning rate and weight decay.
        validation: score of each setting on validation images: mean IoU for classes, minus the mean angle (degrees) for
            normals, minus the root mean squared error for depths; each patch has one prediction and its mean label.
        edge: whether the best rate or decay is at an end of the range tried.
    """

    classifier: LinearStack
    setting: Setting
    validation: tuple[float, ...]
    edge: bool


def choose_linear(
    patches: TrainingPatches, protocol: PatchLinearProtocol, codes: Codes, *, seed: int = 0
) -> ChosenLinear:
    """Train all settings on a part of the images, choose by the rest, and train the chosen one on all.

    Args:
        codes: of the labels of the patches.
    """
    images = patches.images
    if len(images) < 2:
        raise UserError("a linear probe needs at least two training images, one of them to choose its settings")
    generator = torch.Generator().manual_seed(seed)
    held = max(1, round(protocol.validation * len(images)))
    order = images[torch.randperm(len(images), generator=generator)]
    training, validation = patches.of_images(order[held:]), patches.of_images(order[:held])
    for index, what in ((training, "train a linear probe"), (validation, "choose its settings")):
        if not bool((patches.labels.totals[index] > 0).any()):  # as may happen with few patches of each image
            raise UserError(f"the images drawn to {what} have no labelled pixel in their patches; use more patches")
    stack = fit_patches(patches, training, protocol.settings, protocol, generator)
    scores = validation_scores(stack, patches, validation, codes)
    if not all(map(isfinite, scores)):
        raise UserError("the validation scores of a linear probe on patches are not finite numbers")
    best = max(range(len(scores)), key=scores.__getitem__)
    setting = protocol.settings[best]
    again = torch.Generator().manual_seed(seed + 1)
    final = fit_patches(patches, patches.of_images(images), [setting], protocol, again)
    return ChosenLinear(final, setting, tuple(scores), _at_edge(setting, protocol))


def validation_scores(stack: LinearStack, patches: TrainingPatches, index: Tensor, codes: Codes) -> list[float]:
    """The score of each classifier on some patches, larger is better; see `ChosenLinear`."""
    blocks = patches.blocks(torch.split(index, BLOCK))
    return _iou(stack, blocks) if codes.values is None else _mean_errors(stack, blocks, codes)


def _mean_errors(stack: LinearStack, blocks: Iterable[Block], codes: Codes) -> list[float]:
    assert codes.values is not None
    device = stack.bias.device
    values, total, pixels = codes.values.to(device, torch.float32), torch.zeros(len(stack.bias), device=device), 0.0
    for block in blocks:
        X, truth = block.X.float(), block.pixels @ values / block.totals.clamp_min(1)[:, None]
        for place in range(len(stack.bias)):
            predictions = stack.only(place).logits(X)[0].softmax(dim=1) @ values
            total[place] += (_errors(predictions, truth, codes.kind) * block.totals).sum()
        pixels += float(block.totals.sum())
    mean = total / pixels
    return [-float(each) for each in (mean if codes.kind == "normals" else mean.sqrt())]


def _errors(predictions: Tensor, truth: Tensor, kind: Kind) -> Tensor:
    """(n,) angles in degrees, or squared differences."""
    if kind == "depth":
        return (predictions - truth)[:, 0].square()
    cosine = torch.nn.functional.cosine_similarity(predictions, truth, dim=1)
    return torch.rad2deg(torch.arccos(cosine.clamp(-1, 1)))


def _iou(stack: LinearStack, blocks: Iterable[Block]) -> list[float]:
    settings, codes = stack.bias.shape
    counts = torch.zeros(settings, codes, codes, dtype=torch.float64, device=stack.bias.device)
    for block in blocks:
        X = block.X.float()
        for place in range(settings):
            chosen = torch.nn.functional.one_hot(stack.only(place).logits(X)[0].argmax(dim=1), codes)
            counts[place] += block.pixels.T @ chosen.float()
    hits = counts.diagonal(dim1=1, dim2=2)
    union = counts.sum(1) + counts.sum(2) - hits
    iou = torch.where(union > 0, hits / union.clamp_min(1), torch.nan)
    return [float(each) for each in iou.nanmean(dim=1)]


def _at_edge(setting: Setting, protocol: PatchLinearProtocol) -> bool:
    """Whether a setting is at an edge; a decay of 0 is not, since there is nothing beyond it."""
    rates, decays = sorted(protocol.rates), sorted(protocol.decays)
    return (len(rates) > 1 and setting[0] in (rates[0], rates[-1])) or (len(decays) > 1 and setting[1] == decays[-1])
