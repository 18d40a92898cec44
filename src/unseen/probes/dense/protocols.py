"""How detectors and dense predictors are trained: Ericsson et al. 2021, A.4 to A.6.

Where the appendix and the public code disagree, the code's values are taken: batches of 2 and a decay per step for
surface normals, a polynomial decay per step for segmentation (the appendix's "× 0.9 every 500 iterations" would end at
a rate of 4e-16).
"""

from dataclasses import dataclass, replace
from typing import Literal

from unseen.errors import UserError

SIDES = (300, 375, 450, 525, 600)
"""Of the short side of images for normals and segmentation."""
EXTENDED, SHORT = "-extended", "-short"
"""What the names of protocols end with that go beyond the paper, or are a short form, or both, in this order."""


@dataclass(frozen=True)
class DenseProtocol:
    """Everything here can change a number.

    Attributes:
        head: `faster-rcnn`, `psp` on a network that is dilated to stride 8, or `upernet`.
        backbone: what of the backbone trains: nothing, its last stage, all but its batch norms, or all.
        rate: at the start; it falls to 0 as (1 − step/steps)^power, or by 10 at each of `milestones`.
        warm_up: steps over which it grows to `rate`, linearly, from a thousandth of it.
        decay: weight decay, and `decayed` what it is of: all parameters, all but those of norms, or weights alone,
            neither biases nor norms.
        sides: of which the short side of a training image is drawn; `tested` are those of test images, whose
            predictions are averaged. `longest` bounds the long side.
        stride: of the labels that train, relative to the image.
        width: channels of the head of maps.
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
        """The learning rate of a step, the first of which is 0."""
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
    """The same for a network that the paper's has no place for, which is a protocol of its own."""
    return replace(protocol, name=f"{protocol.name}{EXTENDED}")


def shortened(protocol: DenseProtocol, steps: int, scale: float = 1.0) -> DenseProtocol:
    """A short form, which is a protocol of its own: fewer steps, with all moments moved alike, and smaller images.

    Args:
        scale: of the sides of images.
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
