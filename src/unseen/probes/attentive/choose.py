"""The attentive probe with the setting that is best on validation images, trained again with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
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
) -> ChosenAttentive:
    """Train all settings on a part of the images, choose by the rest, and train the chosen one on both.

    Args:
        parts: the images to train on, and those to choose on.
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
    final = fit_attentive(images, torch.cat(parts), classes, [setting], protocol, _stream(seed, 4))
    return ChosenAttentive(final, setting, validation, _at_edge(setting, protocol))


def test_scores(stack: AttentiveStack, images: LabelledImages) -> Tensor:
    """(n, c) logits of all images by a stack of one setting, in order."""
    scores = torch.cat([part[0] for part in predicted(stack, images, torch.arange(len(images)))])
    if not bool(scores.isfinite().all()):
        raise UserError("the scores of an attentive probe on the test images are not finite numbers")
    return scores


def _scores(
    stack: AttentiveStack, images: LabelledImages, index: Tensor, metric: Metric, ignored: Tensor | None
) -> tuple[float | None, ...]:
    """The score of each setting."""
    scores = torch.cat([part.to("cpu", torch.float32) for part in predicted(stack, images, index)], dim=1)
    labels = Labels(images.Y[index], ignored)
    found = (metric_value(each, labels, metric) if bool(each.isfinite().all()) else None for each in scores)
    return tuple(score if score is not None and isfinite(score) else None for score in found)


def _stream(seed: int, number: int) -> torch.Generator:
    from unseen.probes.sampling import stream

    return stream(seed, number)


def _at_edge(setting: Setting, protocol: AttentiveProtocol) -> bool:
    """Whether a setting is at an end of the rates, or at the largest decay: there is nothing below none."""

    def ends(values: Sequence[float], chosen: float, *, low: bool) -> bool:
        return len(values) > 1 and (chosen == max(values) or (low and chosen == min(values)))

    return ends(protocol.rates, setting[0], low=True) or ends(protocol.decays, setting[1], low=min(protocol.decays) > 0)
