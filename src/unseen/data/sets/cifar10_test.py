"""CIFAR-10's test images, the ID test set of the CIFAR-like shifts."""

from unseen.data.core.dataset import Dataset
from unseen.data.sets import cifar10

DATASETS = (
    Dataset(
        name="cifar-10",
        title="CIFAR-10, test",
        space="cifar-10",
        classes=cifar10.DATASET.classes,
        counts={"test": cifar10.DATASET.counts["test"]},
        layouts=cifar10.DATASET.layouts,
        shifted=False,
        get=cifar10.DATASET.get,
        licence=cifar10.DATASET.licence,
        citation=cifar10.DATASET.citation,
    ),
)
