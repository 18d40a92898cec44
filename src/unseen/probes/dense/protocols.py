"""How detectors and dense predictors are trained: Ericsson et al. 2021, A.4 to A.6.

If the appendix and the public code disagree, the code's values are used: batches of 2 and a decay per step for surface
normals, a polynomial decay per step for segmentation (the appendix's "× 0.9 every 500 iterations" would end at a rate
of 4e-16).
"""

from dataclasses import dataclass, replace
from typing import Literal

from unseen.errors import UserError

SIDES = (300, 375, 450, 525, 600)
"""Short sides of images for normals and segmentation."""
EXTENDED, SHORT = "-extended", "-short"
"""Suffixes of protocols that extend the paper, or are a short form, or both, in this order."""


@dataclass(frozen=True)
class DenseProtocol:
    """A training protocol; every field can change a number.

    Attributes:
        head: `faster-rcnn`, `psp` on a network dilated to stride 8, or `upernet`.
        backbone: which part of the backbone is trained: nothing, its last stage, all but its batch norms, or all.
        rate: initial learning rate; it decreases to 0 as (1 − step/steps)^power, or by 10 at each of `milestones`.
        warm_up: steps over which it increases linearly to `rate`, from a thousandth of it.
        decay: weight decay, applied to `decayed`: all parameters, all but those of norms, or only weights, without
            biases and norms.
        sides: choices for the short side of a training image; `tested` are those of test images, whose predictions are
            averaged. `longest` bounds the long side.
        stride: stride of the training labels, relative to the image.
        width: channels of the map head.
    """

    name: str
    head: Literal["faster-rcnn", "psp", "upernet"]
    backbone: Literal["frozen", "last-stage", "without-norms", "whole"]
    steps: int
    batch: int
    rate: float
    decay: float = 1e-4
    momentum: float = 0.9
    power: float = 0.0
    milestones: tuple[int, ...] = ()
    warm_up: int = 0
    decayed: Literal["all", "without-norms", "weights"] = "all"
    flip: bool = True
    sides: tuple[int, ...] = SIDES
    tested: tuple[int, ...] = SIDES
    longest: int = 1000
    stride: int = 1
    width: int = 512

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        rate = self.rate * (1 - step / self.steps) ** self.power if self.power else self.rate
        rate *= 0.1 ** sum(step >= each for each in self.milestones)
        if step < self.warm_up:
            rate *= 0.001 + 0.999 * step / self.warm_up
        return rate


DETECTION_FROZEN = DenseProtocol(
    name="ericsson-2021-detection-frozen",
    head="faster-rcnn",
    backbone="last-stage",
    steps=144_000,
    batch=2,
    rate=0.0025,
    milestones=(96_000, 128_000),
    warm_up=100,
    decayed="without-norms",
    sides=tuple(range(480, 801, 32)),
    tested=(800,),
    longest=1333,
)
DETECTION_FINETUNED = replace(DETECTION_FROZEN, name="ericsson-2021-detection-finetuned", backbone="without-norms")
NORMALS = DenseProtocol(
    name="ericsson-2021-normals",
    head="psp",
    backbone="frozen",
    steps=150 * 90,
    batch=2,
    rate=0.02,
    power=0.9,
    flip=False,
    tested=(450,),
    stride=8,
)
SEGMENTATION = DenseProtocol(
    name="ericsson-2021-segmentation",
    head="upernet",
    backbone="whole",
    steps=30 * 5000,
    batch=2,
    rate=0.02,
    power=0.9,
    decayed="weights",
    stride=4,
)


def extended(protocol: DenseProtocol) -> DenseProtocol:
    """The same protocol under another name, for a network that the paper does not cover."""
    return replace(protocol, name=f"{protocol.name}{EXTENDED}")


def shortened(protocol: DenseProtocol, steps: int, scale: float = 1.0) -> DenseProtocol:
    """A short form under another name: fewer steps, with the schedule scaled accordingly, and smaller images.

    Args:
        scale: factor on the sides of images.
    """
    if not 0 < steps <= protocol.steps or not 0 < scale <= 1:
        raise UserError(f"a short form has 1 to {protocol.steps:,} steps and images of at most the full size")
    if steps == protocol.steps and scale == 1:
        return protocol
    share = steps / protocol.steps
    return replace(
        protocol,
        name=f"{protocol.name}{SHORT}",
        steps=steps,
        milestones=tuple(round(share * each) for each in protocol.milestones),
        warm_up=min(protocol.warm_up, steps // 10),
        sides=tuple(round(scale * each) for each in protocol.sides),
        tested=tuple(round(scale * each) for each in protocol.tested),
        longest=round(scale * protocol.longest),
    )
