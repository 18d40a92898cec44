"""The protocol of the attentive probe."""

from dataclasses import dataclass
from math import ceil

Setting = tuple[float, float]
"""Base learning rate, which is multiplied by batch / 256, and weight decay."""


@dataclass(frozen=True)
class AttentiveProtocol:
    """How the probe is trained, after the public code of Efficient Probing (Psomas et al., arXiv 2506.10178).

    As there: the architecture and its initial values, LARS with momentum 0.9 and trust coefficient 0.001, 90 epochs, a
    linear warm-up over a ninth of them, half a cosine down to 0, rates in proportion to the batch, and batch norm with
    running statistics. Different here, and why:

    - Features are stored, so training images are not augmented (there: random resized crops and flips).
    - Batches have 1,024 images (there: 4,096), and small data sets get `least_steps`.
    - A grid of rates and weight decays is trained at once. The public logs use the base rate 0.1 without decay, and its
      search script lists rates from 0.1 to 1.5 and takes the best accuracy on the images that are reported. Here the
      setting is chosen on validation images, and trained again with them. LARS moves weights by a share of their
      length that is proportional to rate and steps, so data sets of few images need larger rates than ImageNet.
    - The weights after the last epoch are scored, not those of the epoch that is best on the test images.

    Attributes:
        queries: number of learned queries, which must divide the width of patches.
        rates, decays: every pair of them is a setting.
        validation: share of the training images that are drawn to choose the setting, of data sets that have no
            validation images of their own.
    """

    name: str = "attentive"
    queries: int = 32
    rates: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    decays: tuple[float, ...] = (0.0, 0.1)
    epochs: int = 90
    batch: int = 1_024
    least_steps: int = 300
    warm_up: float = 1 / 9
    momentum: float = 0.9
    trust: float = 1e-3
    validation: float = 0.2

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple((rate, decay) for rate in self.rates for decay in self.decays)

    def steps(self, images: int) -> int:
        """Number of steps of a training on this many images."""
        return max(self.least_steps, ceil(self.epochs * images / self.batch))


ATTENTIVE = AttentiveProtocol()
