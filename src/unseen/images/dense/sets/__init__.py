"""Data sets with boxes or maps: one file each, which defines `DATASETS`. New files are discovered automatically."""

from functools import cache

from unseen.errors import look_up
from unseen.images.dense.dense_dataset import DenseDataset
from unseen.plugins import plugins


@cache
def dense_datasets() -> dict[str, DenseDataset]:
    """All dense data sets by name, in the order of their files."""
    return {dataset.name: dataset for datasets in plugins(__name__, "DATASETS") for dataset in datasets}


def get_dense_dataset(name: str) -> DenseDataset:
    """The data set of that name; an unknown name is a user error."""
    return look_up(dense_datasets(), name, "data set", " with boxes or maps")
