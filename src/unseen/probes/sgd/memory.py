"""Device memory of a sweep, estimated before it starts."""

from bisect import bisect_right
from dataclasses import dataclass, replace

from unseen.probes.sgd.kernels.layout import Layout
from unseen.probes.sgd.kernels.softmax_gradient import WIDEST


@dataclass(frozen=True)
class SweepSize:
    """The quantities that determine the memory of `train_paired`.

    Attributes:
        rows: samples per step, a multiple of 16.
        chunk: steps gathered together.
        item: bytes of a factor in products, 2 or 4.
    """

    problems: int
    trials: int
    classes: int
    features: int
    rows: int = 1024
    chunk: int = 32
    item: int = 2

    @property
    def bytes(self) -> int:
        """Bytes of device memory, besides the features themselves."""
        columns = Layout(self.trials, self.classes).columns
        weights = columns * self.features * (4 + 5 * self.item)  # momentum; two copies, a low half, two gradients
        results = 4 * 4 * columns * self.features  # at the start and at the end
        # There is no kernel for so many classes, and their softmax uses 32-bit copies of the scores.
        copies = 4 * 4 if Layout(1, self.classes).width > WIDEST else 0
        scores = self.rows * columns * (self.item + copies)
        samples = self.chunk * self.rows * self.features * self.item
        return self.problems * (weights + results + scores + samples)


def fitting_trials(size: SweepSize, free: int) -> int:
    """Number of trials that fit into `free` bytes with everything else as in `size`; 0 if not even one does."""
    return bisect_right(range(1, 1 << 20), free, key=lambda trials: replace(size, trials=trials).bytes)
