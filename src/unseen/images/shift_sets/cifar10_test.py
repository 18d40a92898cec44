"""CIFAR-10's test images, of which the CIFAR-like test sets are shifts."""

from unseen.images.datasets.cifar10 import DATASET
from unseen.images.shift_sets.shift_set import ShiftSet

SETS = (
    ShiftSet(
        name="cifar-10",
        title="CIFAR-10, test",
        space="cifar-10",
        classes=DATASET.classes,
        images=DATASET.counts["test"],
        layouts=DATASET.layouts,
        part="test",
        shifted=False,
        get=DATASET.get,
        licence=DATASET.licence,
        citation=DATASET.citation,
    ),
)
