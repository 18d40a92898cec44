"""All data sets of the task study, by name: a module of this package that defines `DATASET` is one."""

from typing import get_args

from unseen.errors import look_up
from unseen.images.datasets.dataset import Dataset, FewShot
from unseen.plugins import plugins


def find_datasets() -> dict[str, Dataset]:
    """By name, in the order of the paper's tables, then those that are not in the paper."""
    found: list[Dataset] = plugins(__package__, "DATASET")
    return {dataset.name: dataset for dataset in sorted(found, key=_order)}


def _order(dataset: Dataset) -> tuple[int, int, str]:
    family = get_args(FewShot).index(dataset.few_shot) if dataset.few_shot else 0
    return family, dataset.column, dataset.name


DATASETS = find_datasets()


def get_dataset(name: str) -> Dataset:
    """The data set of that name; an unknown one is a user's error."""
    return look_up(DATASETS, name, "data set")
