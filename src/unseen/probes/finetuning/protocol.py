"""What fine-tuning does to a network."""

from dataclasses import dataclass
from math import cos, pi
from typing import Literal

Augment = Literal["crop+flip", "centre", "large-crop"]
"""A random part of the image, resized, and mirrored or not; the centre, as it is tested; a random part of at least
90% of its area, as open_clip trains.
"""


@dataclass(frozen=True)
class FinetuneProtocol:
    """What is done to a network; everything here can change a number.

    Attributes:
        rate: the greatest learning rate; it grows to it over `warmup` steps and falls to 0 along half a cosine.
        decay: times a parameter, is added to its gradient; of all parameters alike.
        augment: what is done to training images (`unseen.probes.finetuning.augment`).
    """

    name: str
    steps: int
    batch: int
    rate: float
    decay: float
    momentum: float = 0.9
    nesterov: bool = True
    warmup: int = 0
    augment: Augment = "crop+flip"

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, the first of which is 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        return self.rate * 0.5 * (1 + cos(pi * (step - self.warmup) / (self.steps - self.warmup)))


@dataclass(frozen=True)
class AdamWProtocol(FinetuneProtocol):
    """The same by AdamW (Loshchilov and Hutter 2019), whose decay is the rate times `decay` times a parameter.

    Parameters of fewer than two dimensions (gains, biases, the scale of logits) do not decay, as open_clip has it.

    Attributes:
        clip: greatest ℓ2 norm of the gradient of all parameters, to which a greater one is scaled; 0 for none.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip: float = 0.0
