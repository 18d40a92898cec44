"""The data sets of the task study on the command line: their names, facts, and which are available."""

from pathlib import Path

from unseen.errors import UserError

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


def state_rows(root: Path) -> tuple[tuple[str, ...], list[tuple[str | int, ...]]]:
    """For every data set: whether it is complete, in a folder or in a package, and how to get it if not."""
    from unseen.data.core.open_dataset import examine
    from unseen.data.registry import task_sets

    if not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains the data sets")
    columns = ("", "dataset", "state", "images", "expected", "folder", "advice")
    rows: list[tuple[str | int, ...]] = []
    for dataset in task_sets().values():
        found = examine(dataset, root)
        # The reason sometimes already says how to get the data set.
        get = "" if found.state == "complete" or dataset.get in found.reason else dataset.get
        advice = "; ".join(part for part in (found.reason, get) if part)
        where = str(found.place) if found.place else ""
        rows.append((MARKS[found.state], dataset.name, found.state, found.images, dataset.images, where, advice))
    return columns, rows
