"""All published data sets, by name: every module of `unseen.data.sets` that defines `DATASET` or `DATASETS`.

Data sets with classes come first, in the order of the paper's tables, followed by those that are not in the paper; then
those with boxes or maps, in the order of their files; then test sets of the shift study: those with ImageNet's classes
first, and ID test sets before their shifts. Those that other packages add, by entry points in the group
`unseen.datasets`, are the last.
"""

from collections.abc import Sequence
from typing import Any, get_args

from unseen.data.core.dataset import Dataset, FewShot, LabelSpace
from unseen.errors import UserError, look_up
from unseen.extension.entry_points import PlugIn
from unseen.extension.plugins import plugins
from unseen.extension.registry import Registry, checked_name

PACKAGE = "unseen.data.sets"


def find_datasets() -> Registry[Dataset]:
    """Data sets by name, in the order above."""
    single: list[Dataset] = plugins(PACKAGE, "DATASET")
    files: list[Sequence[Dataset]] = [*((dataset,) for dataset in single), *plugins(PACKAGE, "DATASETS")]
    ours = {dataset.name: dataset for file in sorted(files, key=_order) for dataset in file}
    return Registry("datasets", "data set", ours, _checked)


def _checked(plug_in: PlugIn, loaded: Any) -> Dataset:
    """The data set that a plug-in loads, if it is one; the printed results of papers are of our own only."""
    if not isinstance(loaded, Dataset):
        raise UserError(f"{plug_in.value} must be an unseen.data.core.dataset.Dataset, not {type(loaded).__name__}")
    checked_name(plug_in, loaded.name)
    if loaded.shifted is None and loaded.has_classes and loaded.in_paper:
        raise UserError("it is not in the paper whose printed results belong to our data sets; set few_shot='other'")
    if not loaded.layouts:
        raise UserError("it has no layouts, which say how its images are found")
    return loaded


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
