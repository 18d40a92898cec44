"""All published data sets, by name: every module of `unseen.data.sets` that defines `DATASET` or `DATASETS`.

Data sets with classes come first, in the order of the paper's tables, followed by those that are not in the paper; then
those with boxes or maps, in the order of their files; then test sets of the shift study: those with ImageNet's classes
first, and ID test sets before their shifts.
"""

from collections.abc import Sequence
from typing import get_args

from unseen.data.core.dataset import Dataset, FewShot, LabelSpace
from unseen.errors import look_up
from unseen.extension.plugins import plugins

PACKAGE = "unseen.data.sets"


def find_datasets() -> dict[str, Dataset]:
    """Data sets by name, in the order above."""
    single: list[Dataset] = plugins(PACKAGE, "DATASET")
    files: list[Sequence[Dataset]] = [*((dataset,) for dataset in single), *plugins(PACKAGE, "DATASETS")]
    return {dataset.name: dataset for file in sorted(files, key=_order) for dataset in file}


def _order(file: Sequence[Dataset]) -> tuple[int, int, int, str]:
    """The place of the data sets of a file, by the first of them; files of dense data sets keep their order."""
    first = file[0]
    if first.shifted is not None:
        return 2, get_args(LabelSpace).index(first.space), first.shifted, first.name
    if first.dense:
        return 1, 0, 0, ""
    family = get_args(FewShot).index(first.few_shot) if first.few_shot else 0
    return 0, family, first.column, first.name


DATASETS = find_datasets()


def task_sets() -> dict[str, Dataset]:
    """The data sets with classes, and those with queries for retrieval: all that are probed by whole images."""
    return {each.name: each for each in DATASETS.values() if each.shifted is None and not each.dense}


def dense_sets() -> dict[str, Dataset]:
    """The data sets with boxes or maps."""
    return {each.name: each for each in DATASETS.values() if each.dense}


def shift_sets() -> dict[str, Dataset]:
    """The test sets of the shift study."""
    return {each.name: each for each in DATASETS.values() if each.shifted is not None}


def get_dataset(name: str) -> Dataset:
    """The data set of that name; an unknown name is a user error."""
    return look_up(DATASETS, name, "data set")
