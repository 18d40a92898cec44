"""Kinds of tasks, one file each: a module here with a `KIND` is what data sets name as their `kind`."""

from importlib import import_module

from unseen.images.datasets.dataset import Dataset
from unseen.studies.tasks.kind import TaskKind


def kind_of(dataset: Dataset) -> TaskKind:
    """The kind of task that a data set is."""
    found: TaskKind = import_module(f"{__name__}.{dataset.kind}").KIND
    return found
