"""The protocol of reconstructing images from features."""

from dataclasses import dataclass, replace

from unseen.errors import UserError

PAPER = "ericsson-2021-inversion"
SMALLEST_MAP = 4
"""Rows of the deepest maps of the prior; for the paper's 224 pixels (256 of noise, halved six times) there are four."""


@dataclass(frozen=True)
class InversionProtocol:
    """A deep image prior and its optimisation.

    Attributes:
        steps: steps of Adam with the learning rate `rate`.
        widths: channels of each scale, in the encoder and the decoder; every scale has half the side of the previous
            one.
        kernels: side of the convolutions of each scale.
        skip: channels of the skip connection of each scale.
        noise: channels of the input, uniform between 0 and `amplitude`.
        sigmoid: whether the network's output is squashed between black and white; without it, the output is a
            normalised image of any values, clamped after all steps.
    """

    name: str = PAPER
    steps: int = 3000
    rate: float = 1e-3
    widths: tuple[int, ...] = (16, 32, 64, 128, 128, 128)
    kernels: tuple[int, ...] = (7, 7, 5, 5, 3, 3)
    skip: int = 4
    noise: int = 32
    amplitude: float = 0.1
    sigmoid: bool = False

    @classmethod
    def of(cls, steps: int | None = None, *, sigmoid: bool = False) -> "InversionProtocol":
        """The paper's protocol, or with other settings under another name."""
        paper = cls()
        steps = paper.steps if steps is None else steps
        if steps < 1:
            raise UserError(f"a reconstruction takes at least one step, not {steps}")
        name = PAPER if steps == paper.steps else f"inversion-{steps}"
        return replace(paper, name=f"{name}-sigmoid" if sigmoid else name, steps=steps, sigmoid=sigmoid)

    def at_size(self, size: int) -> "InversionProtocol":
        """The protocol for images of this size: with as many scales as leave maps of at least 4 × 4."""
        scales = len(self.widths)
        while scales and -(-size // 2**scales) < SMALLEST_MAP:
            scales -= 1
        if not scales:
            raise UserError(f"images of {size} × {size} pixels are too small to be reconstructed; 7 × 7 is the least")
        return replace(self, widths=self.widths[:scales], kernels=self.kernels[:scales])

    def noise_side(self, size: int) -> int:
        """Rows of the input: the smallest number that covers the image and can be halved by all scales, 256 for 224."""
        step: int = 2 ** len(self.widths)
        return -(-size // step) * step


DEEP_IMAGE_PRIOR = InversionProtocol()
"""Ericsson et al. 2021, A.8, after the public code of Zhao et al. 2021."""


ERICSSON_2021 = InversionProtocol()
"""The settings of the paper."""
