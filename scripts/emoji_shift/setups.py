"""The models of the pool: what each is trained on, how much of it, which network, and by labels or by captions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

RATIOS = (0.1, 0.25, 0.5, 1.0)
SHARES: Mapping[str, float] = {
    "noto": 1, "fluent": 1, "emoji": 1, "drawings": 0, "mixed-25": 0.25, "mixed-50": 0.5, "mixed-75": 0.75,
}  # fmt: skip
"""Training set → share of emoji in every batch; the others are drawings. The first two have one family of emoji."""


@dataclass(frozen=True)
class Setup:
    """A model of the pool.

    Attributes:
        data: its training set, one of `SHARES`.
        ratio: share of that set's images that train it.
        captions: whether captions train it, instead of labels.
        change: `grey` (half of the emoji lose their colour), `colour` (drawings in random colours), or none.
    """

    data: str
    ratio: float
    network: str
    captions: bool = False
    change: str = ""

    @property
    def name(self) -> str:
        trained = self.group.replace("mixed", self.data)
        return f"{self.network} {trained} {self.ratio:.0%}"

    @property
    def group(self) -> str:
        """What it is trained on and by; the unit that is held out as a whole."""
        mixed = "mixed" if self.data.startswith("mixed") else self.data
        return f"{mixed}-captions" if self.captions else f"{mixed}-{self.change}" if self.change else mixed

    @property
    def share(self) -> float:
        return SHARES[self.data]

    @property
    def steps(self) -> int:
        """Training steps: drawings are 17 times as many as emoji, and a model of them needs more."""
        return 1200 if self.share == 1 else 2400


def setups() -> list[Setup]:
    """All models, the slow ones first so that no process is left alone with one."""
    convs = ("conv16", "conv28")
    made = [Setup(data, ratio, network) for data in SHARES for ratio in RATIOS for network in convs]
    made += [Setup(data, ratio, "vit64") for data in ("emoji", "drawings", "mixed-50") for ratio in RATIOS[1:]]
    made += [Setup(data, 0.05, "conv28") for data in ("emoji", "drawings", "mixed-50")]
    large = [each for each in made if each.network in convs and each.ratio > RATIOS[0]]
    made += [replace(each, change="grey") for each in large if each.data == "emoji"]
    made += [replace(each, change="colour") for each in large if each.data == "drawings"]
    made += [replace(each, captions=True) for each in large if each.data != "fluent"]
    return sorted(made, key=lambda each: (each.network.startswith("conv"), -each.steps, not each.captions))
