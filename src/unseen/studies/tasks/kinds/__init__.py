"""Kinds of tasks, one per file: a module in this package that defines `KIND`."""

from importlib import import_module

from unseen.images.dataset import Dataset
from unseen.studies.tasks.kind import TaskKind


def kind_of(dataset: Dataset) -> TaskKind:
    """The kind of task of a data set."""
    name = "classification" if dataset.target in {"class", "classes"} else dataset.target
    found: TaskKind = import_module(f"{__name__}.{name}").KIND
    return found
