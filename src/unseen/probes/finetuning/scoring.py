"""How a fine-tuned network is scored: classes, one by one where images show several, and calibration."""

import torch
from torch import Tensor, nn

from unseen.metrics.calibration import reliability_bins
from unseen.probes.many_shot import Calibration


class ShownOrNot(nn.Module):
    """A network with one binary classifier a class, as a softmax over two: (b, …) → (b, 2, c).

    Class c's two scores are 0 and z, whose softmax is the sigmoid of z; so the mean cross-entropy over images and
    classes with (b, c) labels 0 and 1 is the mean binary cross-entropy of z.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> Tensor:
        scores = self.network(inputs)
        return torch.stack([torch.zeros_like(scores), scores], dim=1)


def class_scores(outputs: Tensor) -> Tensor:
    """(n, c) scores of classes from what a network gave: (n, c) of classes, or (n, 2, c) of `ShownOrNot`."""
    return outputs[:, 1] - outputs[:, 0] if outputs.ndim == 3 else outputs


def calibration(scores: Tensor, y: Tensor, temperature: float, bins: int, *, unbounded: bool) -> Calibration:
    """How far confidence is from accuracy, before and after division of the (n, c) scores by a temperature.

    Args:
        unbounded: whether the temperature is the end of the range searched.
    """
    exact = scores.double()
    before, after = (reliability_bins((exact / scale).softmax(dim=1), y, bins) for scale in (1.0, temperature))
    errors = before.calibration_error, after.calibration_error
    return Calibration(*errors, (temperature,), before, after, unbounded)
