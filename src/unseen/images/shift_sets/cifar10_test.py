"""CIFAR-10's test images, the ID test set of the CIFAR-like shifts."""

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
