"""The protocols of the probes of patch features."""

from dataclasses import dataclass
from math import ceil
from typing import Literal

Setting = tuple[float, float]
"""Learning rate and weight decay."""


@dataclass(frozen=True)
class PatchLinearProtocol:
    """How the probe is trained.

    Attributes:
        rates, decays: every pair of them is a setting. A step of AdamW shrinks weights by rate · decay: below 1, decay
            changes nothing in trainings of a few hundred steps, and above 10 scores fall.
        epochs: passes over the patches; small data sets get `least_steps`.
        validation: share of the training images used to choose the setting, which is then trained on all.
        patches: number of patches of each training image, the same positions in all; by default all.
    """

    name: str = "patch-linear"
    rates: tuple[float, ...] = (1e-4, 3e-4, 1e-3, 3e-3)
    decays: tuple[float, ...] = (0.0, 1.0, 10.0)
    epochs: int = 10
    batch: int = 8_192
    least_steps: int = 500
    warm_up: float = 0.05
    validation: float = 0.1
    patches: int | Literal["all"] = "all"

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple((rate, decay) for rate in self.rates for decay in self.decays)

    def steps(self, patches: int) -> int:
        """Number of steps of a training on this many patches."""
        return max(self.least_steps, ceil(self.epochs * patches / self.batch))


PATCH_LINEAR = PatchLinearProtocol()


@dataclass(frozen=True)
class ContextProtocol:
    """How labels are looked up.

    Attributes:
        patches: number of patches of each training image, the same positions in all; by default all.
        memory: maximum number of patches; of more, a fixed draw is used.
    """

    name: str = "patch-context"
    neighbours: int = 30
    temperature: float = 0.02
    memory: int = 10_240_000
    patches: int | Literal["all"] = "all"


PATCH_CONTEXT = ContextProtocol()
