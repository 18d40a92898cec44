"""Fine-tuning protocols."""

from dataclasses import dataclass
from math import ceil, cos, pi
from typing import Literal

from unseen.errors import UserError

REFERENCE = "cog-v2-finetune"
"""Name of the protocol with one setting, a reference for frozen features."""
Augment = Literal["crop+flip", "centre", "large-crop"]
"""A random crop, resized and possibly mirrored; the centre crop, as in tests; or a random crop of at least 90% of the
area, as in open_clip's training.
"""


@dataclass(frozen=True)
class FinetuneProtocol:
    """A fine-tuning protocol; every field can change a number.

    Attributes:
        rate: maximum learning rate, reached after `warmup` steps and then decreasing to 0 along half a cosine.
        decay: weight decay, added to the gradient of every parameter.
        augment: augmentation of training images (`unseen.probes.finetuning.augment`).
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
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        return self.rate * 0.5 * (1 + cos(pi * (step - self.warmup) / (self.steps - self.warmup)))


@dataclass(frozen=True)
class AdamWProtocol(FinetuneProtocol):
    """The same with AdamW (Loshchilov and Hutter 2019), in which decay is the rate times `decay` times the parameter.

    Parameters with fewer than two dimensions (gains, biases, the logit scale) do not decay, as in open_clip.

    Attributes:
        clip: maximum ℓ2 norm of the gradient of all parameters, to which a larger one is scaled; 0 for none.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip: float = 0.0


def reference_protocol(images: int, *, epochs: int = 30, batch: int = 256, rate: float = 0.01) -> FinetuneProtocol:
    """SGD with Nesterov momentum and a cosine schedule over some epochs of a data set's training images."""
    if images < 1 or epochs < 1:
        raise UserError(f"fine-tuning needs images and at least one epoch, not {images} and {epochs}")
    return FinetuneProtocol(REFERENCE, ceil(images * epochs / batch), batch, rate, decay=1e-4)
