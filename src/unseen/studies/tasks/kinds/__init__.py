"""Kinds of tasks, one per file: a module in this package that defines `KIND`; data sets name it as their `kind`."""

from importlib import import_module

from unseen.images.datasets.dataset import Dataset
from unseen.studies.tasks.kind import TaskKind


def kind_of(dataset: Dataset) -> TaskKind:
    """The kind of task of a data set."""
    found: TaskKind = import_module(f"{__name__}.{dataset.kind}").KIND
    return found
