"""The data sets of the task study on the command line: their names, facts, and which are available."""

from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.data.core.dataset import Dataset

Row = tuple[str | int, ...]
STATE_COLUMNS = ("", "dataset", "state", "images", "expected", "folder", "advice")
MARKS = {"complete": "✓", "partial": "!", "missing": "–"}


def dataset_rows() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The facts on every data set."""
    from unseen.data.registry import task_sets

    parts = ("train", "val", "test")
    columns = ("dataset", "title", "classes", "images", *parts, "metric", "validation", "few-shot", "licence")
    rows: list[tuple[str, ...]] = []
    for dataset in task_sets().values():
        counts = [str(dataset.counts.get(part, "–")) for part in parts]
        metric = dataset.metric if dataset.has_classes else dataset.target
        words = (metric, dataset.validation or "–", dataset.few_shot or "–", dataset.licence)
        rows.append((dataset.name, dataset.title, str(dataset.classes or "–"), str(dataset.images), *counts, *words))
    return columns, rows


def dense_rows() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The facts on every data set with boxes or dense labels."""
    from unseen.data.registry import dense_sets

    columns = ("dataset", "title", "labels", "classes", "train", "test", "licence")
    rows = [
        (
            each.name,
            each.title,
            each.kind,
            str(each.classes) if each.classes else "–",
            *(str(each.counts.get(part, "–")) for part in ("train", "test")),
            each.licence,
        )
        for each in dense_sets().values()
    ]
    return columns, rows


def state_rows(root: Path) -> tuple[tuple[str, ...], list[Row]]:
    """For every data set: whether it is complete, in a folder or in a package, and how to get it if not."""
    from unseen.data.registry import task_sets

    _refuse_no_folder(root)
    return STATE_COLUMNS, [_state_row(dataset, root) for dataset in task_sets().values()]


def study_rows(root: Path, word: str) -> tuple[tuple[str, ...], list[Row]]:
    """The same for the data sets of a study, in its order; of levels, whether their images are there."""
    from unseen.data.own.description import is_own
    from unseen.data.registry import DATASETS
    from unseen.studies.keys import ALL
    from unseen.studies.toml import find_study

    _refuse_no_folder(root)
    study = find_study(word)
    if study.datasets == (ALL,) and study.levels is None:
        return state_rows(root)
    words = [] if study.datasets == (ALL,) else study.datasets
    known = [DATASETS[each] for each in words if each in DATASETS]
    levels = [each for each in words if each not in DATASETS and each not in study.data and not is_own(each)]
    if study.levels is not None and not words:
        levels = [f"levels {study.levels}"]
    return STATE_COLUMNS, [
        *(_level_row(name, root) for name in levels if study.levels is not None),
        *(_state_row(dataset, root) for dataset in known),
    ]


def _refuse_no_folder(root: Path) -> None:
    if not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains the data sets")


def _state_row(dataset: "Dataset", root: Path) -> Row:
    from unseen.data.core.open_dataset import examine

    found = examine(dataset, root)
    # The reason sometimes already says how to get the data set.
    get = "" if found.state == "complete" or dataset.get in found.reason else dataset.get
    folders = " or ".join(layout.folder for layout in dataset.layouts)
    expected = f"expected in {folders}" if found.state == "missing" else ""
    advice = "; ".join(part for part in (found.reason, expected, get) if part)
    where = str(found.place) if found.place else ""
    return MARKS[found.state], dataset.name, found.state, found.images, dataset.images, where, advice


def _level_row(name: str, root: Path) -> Row:
    """Whether the images of a level are in their usual place; they are not counted."""
    from unseen.studies.places import LEVELS, USUAL, Places

    place = Places(root).place(LEVELS)
    if place is not None:
        return MARKS["complete"], name, "found", 0, 0, place, "not counted here"
    advice = f"expected in {' or '.join(USUAL[LEVELS])}; ImageNet-21K"
    return MARKS["missing"], name, "missing", 0, 0, "", advice
