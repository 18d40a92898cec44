"""All data sets of the task study, by name: every module of this package that defines `DATASET`."""

from typing import get_args

from unseen.errors import look_up
from unseen.images.datasets.dataset import Dataset, FewShot
from unseen.plugins import plugins


def find_datasets() -> dict[str, Dataset]:
    """Data sets by name, in the order of the paper's tables, followed by those that are not in the paper."""
    datasets: list[Dataset] = plugins(__package__, "DATASET")
    return {dataset.name: dataset for dataset in sorted(datasets, key=_order)}


def _order(dataset: Dataset) -> tuple[int, int, str]:
    family = get_args(FewShot).index(dataset.few_shot) if dataset.few_shot else 0
    return family, dataset.column, dataset.name


DATASETS = find_datasets()


def get_dataset(name: str) -> Dataset:
    """The data set of that name; an unknown name is a user error."""
    return look_up(DATASETS, name, "data set")
