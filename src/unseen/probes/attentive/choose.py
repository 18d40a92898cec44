"""The attentive probe with the setting that is best on validation images, trained again with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.attentive.data import LabelledImages
from unseen.probes.attentive.protocol import AttentiveProtocol, Setting
from unseen.probes.attentive.stack import AttentiveStack
from unseen.probes.attentive.train import fit_attentive, predicted
from unseen.probes.many_shot import Labels, metric_value

Metric = Literal["top1", "mean-per-class", "map-11-point"]


@dataclass(frozen=True, eq=False)
class ChosenAttentive:
    """A trained probe.

    Attributes:
        stack: of one setting.
        setting: base learning rate and weight decay.
        validation: score of each setting on validation images; None for those that diverged.
        edge: whether the rate or the decay is at an end of the range tried.
    """

    stack: AttentiveStack
    setting: Setting
    validation: tuple[float | None, ...]
    edge: bool


def choose_attentive(
    images: LabelledImages,
    parts: tuple[Tensor, Tensor],
    classes: int,
    metric: Metric,
    protocol: AttentiveProtocol,
    *,
    seed: int = 0,
    ignored: Tensor | None = None,
    final: Tensor | None = None,
) -> ChosenAttentive:
    """Train all settings on a part of the images, choose by the rest, and train the chosen one on both.

    Args:
        parts: the images to train on, and those to choose on.
        final: the images to train the chosen one on, if not on both.
        ignored: (v, c) validation labels that count neither for nor against a class.
    """
    training, held = parts
    # Streams of one seed: 2 trains the grid and 4 the final probe, as for other probes.
    stack = fit_attentive(images, training, classes, protocol.settings, protocol, _stream(seed, 2))
    validation = _scores(stack, images, held, metric, ignored)
    if not any(score is not None for score in validation):
        raise UserError(
            "the attentive probe diverged with every learning rate; the features of patches may be too large, or not "
            "finite"
        )
    best = max(range(len(validation)), key=lambda place: -1.0 if validation[place] is None else validation[place] or 0)
    setting = protocol.settings[best]
    every = torch.cat(parts) if final is None else final
    trained = fit_attentive(images, every, classes, [setting], protocol, _stream(seed, 4))
    return ChosenAttentive(trained, setting, validation, _at_edge(setting, protocol))


def test_scores(stack: AttentiveStack, images: LabelledImages) -> Tensor:
    """(n, c) logits of all images by a stack of one setting, in order."""
    scores = torch.cat([part[0] for part in predicted(stack, images, torch.arange(len(images)))])
    if not bool(scores.isfinite().all()):
        raise UserError("the scores of an attentive probe on the test images are not finite numbers")
    return scores


def _scores(
    stack: AttentiveStack, images: LabelledImages, index: Tensor, metric: Metric, ignored: Tensor | None
) -> tuple[float | None, ...]:
    """The score of each setting. Of images with one class, only predictions are kept, since scores may be many."""
    parts = predicted(stack, images, index)
    if images.several:
        scores = torch.cat([part.to("cpu", torch.float32) for part in parts], dim=1)
        labels = Labels(images.Y[index], ignored)
        return tuple(metric_value(each, labels, metric) if bool(each.isfinite().all()) else None for each in scores)
    found, finite = list[Tensor](), torch.ones(stack.shape.settings, dtype=torch.bool, device=images.device)
    for part in parts:
        finite &= part.isfinite().all(dim=2).all(dim=1)
        found.append(part.argmax(dim=2))
    y = images.Y[index]
    hits = (torch.cat(found, dim=1).cpu() == y).double()
    if metric == "mean-per-class":
        counts = torch.bincount(y)
        values = (hits / counts[y]).sum(dim=1) / (counts > 0).sum()
    else:
        values = hits.mean(dim=1)
    return tuple(value if sound else None for value, sound in zip(values.tolist(), finite.tolist(), strict=True))


def _stream(seed: int, number: int) -> torch.Generator:
    from unseen.probes.sampling import stream

    return stream(seed, number)


def _at_edge(setting: Setting, protocol: AttentiveProtocol) -> bool:
    """Whether a setting is at an end of the rates, or at the largest decay: there is nothing below none."""

    def ends(values: Sequence[float], chosen: float, *, low: bool) -> bool:
        return len(values) > 1 and (chosen == max(values) or (low and chosen == min(values)))

    return ends(protocol.rates, setting[0], low=True) or ends(protocol.decays, setting[1], low=min(protocol.decays) > 0)
