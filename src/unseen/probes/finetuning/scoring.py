"""Scoring a fine-tuned network: single or multiple labels, and calibration."""

import torch
from torch import Tensor, nn

from unseen.metrics.calibration import reliability_bins
from unseen.probes.many_shot import Calibration


class ShownOrNot(nn.Module):
    """A network with one binary classifier per class, as a softmax over two: (b, …) → (b, 2, c).

    The two scores of class c are 0 and z, whose softmax is the sigmoid of z; so the mean cross-entropy over images and
    classes with (b, c) labels 0 and 1 is the mean binary cross-entropy of z.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> Tensor:
        scores = self.network(inputs)
        return torch.stack([torch.zeros_like(scores), scores], dim=1)


def class_scores(outputs: Tensor) -> Tensor:
    """(n, c) class scores from a network's output: (n, c), or (n, 2, c) for `ShownOrNot`."""
    return outputs[:, 1] - outputs[:, 0] if outputs.ndim == 3 else outputs


def calibration(scores: Tensor, y: Tensor, temperature: float, bins: int, *, unbounded: bool) -> Calibration:
    """Calibration before and after dividing the (n, c) scores by a temperature.

    Args:
        unbounded: whether the temperature is an end of the search range.
    """
    exact = scores.double()
    before, after = (reliability_bins((exact / scale).softmax(dim=1), y, bins) for scale in (1.0, temperature))
    errors = before.calibration_error, after.calibration_error
    return Calibration(*errors, (temperature,), before, after, unbounded)
