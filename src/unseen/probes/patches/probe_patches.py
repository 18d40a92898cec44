"""Probes on the patch features of a data set: choosing the settings, training, predicting."""

from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.images.dense.labels import Kind
from unseen.probes.patches.codes import Codes
from unseen.probes.patches.linear import LinearStack, PatchLinearProtocol, Setting, fit_patches

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
    X: Tensor, Y: Tensor, images: Tensor, protocol: PatchLinearProtocol, codes: Codes, *, seed: int = 0
) -> ChosenLinear:
    """Train all settings on a part of the images, choose by the rest, and train the chosen one on all.

    Args:
        X: (n, d) features of patches.
        Y: (n, c) pixels of codes in each.
        images: (n,) index of the image of each patch.
        codes: what Y counts.
    """
    names = torch.unique(images)
    if len(names) < 2:
        raise UserError("a linear probe needs at least two training images, one of them to choose its settings")
    generator = torch.Generator().manual_seed(seed)
    held = max(1, round(protocol.validation * len(names)))
    kept = torch.isin(images, names[torch.randperm(len(names), generator=generator)[held:].to(names.device)])
    stack = fit_patches(X[kept], Y[kept], protocol.settings, protocol, generator)
    scores = _validation(stack, X[~kept], Y[~kept], codes)
    best = max(range(len(scores)), key=scores.__getitem__)
    setting = protocol.settings[best]
    final = fit_patches(X, Y, [setting], protocol, torch.Generator().manual_seed(seed + 1))
    return ChosenLinear(final, setting, tuple(scores), _at_edge(setting, protocol))


def _validation(stack: LinearStack, X: Tensor, Y: Tensor, codes: Codes) -> list[float]:
    if codes.values is None:
        return _iou(stack, X, Y)
    values, total, pixels = codes.values.to(Y.device, torch.float32), torch.zeros(len(stack.bias), device=X.device), 0.0
    for rows, counts in zip(torch.split(X, BLOCK), torch.split(Y.float(), BLOCK), strict=True):
        known = counts.sum(dim=1)
        truth = counts @ values / known.clamp_min(1)[:, None]
        predictions = stack.logits(rows).float().softmax(dim=2) @ values
        total += (_errors(predictions, truth, codes.kind) * known).sum(dim=1)
        pixels += float(known.sum())
    mean = total / pixels
    return [-float(each) for each in (mean if codes.kind == "normals" else mean.sqrt())]


def _errors(predictions: Tensor, truth: Tensor, kind: Kind) -> Tensor:
    """(K, n) angles in degrees, or squared differences."""
    if kind == "depth":
        return (predictions - truth)[..., 0].square()
    cosine = torch.nn.functional.cosine_similarity(predictions, truth[None], dim=2)
    return torch.rad2deg(torch.arccos(cosine.clamp(-1, 1)))


def _iou(stack: LinearStack, X: Tensor, Y: Tensor) -> list[float]:
    settings, codes = stack.bias.shape
    counts = torch.zeros(settings, codes, codes, dtype=torch.float64, device=X.device)
    for rows, pixels in zip(torch.split(X, BLOCK), torch.split(Y, BLOCK), strict=True):
        chosen = torch.nn.functional.one_hot(stack.logits(rows).argmax(dim=2), codes).float()
        counts += torch.einsum("nt,knp->ktp", pixels.float(), chosen).double()
    hits = counts.diagonal(dim1=1, dim2=2)
    union = counts.sum(1) + counts.sum(2) - hits
    iou = torch.where(union > 0, hits / union.clamp_min(1), torch.nan)
    return [float(each) for each in iou.nanmean(dim=1)]


def _at_edge(setting: Setting, protocol: PatchLinearProtocol) -> bool:
    """Whether a setting is at an edge; a decay of 0 is not, since there is nothing beyond it."""
    rates, decays = sorted(protocol.rates), sorted(protocol.decays)
    return (len(rates) > 1 and setting[0] in (rates[0], rates[-1])) or (len(decays) > 1 and setting[1] == decays[-1])
