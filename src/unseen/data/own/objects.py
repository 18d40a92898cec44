"""Opening data sets that are objects in Python."""

from collections.abc import Mapping
from typing import Any

from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.rows import ALL, SPLIT_FOLDERS
from unseen.data.own.classes import survey_parts
from unseen.data.own.description import describe_parts
from unseen.data.registry import DATASETS
from unseen.data.sources.columns import SEVERAL
from unseen.data.sources.python_sets import images_of
from unseen.data.sources.torchvision_sets import is_subset
from unseen.errors import UserError


def open_object(data: Any, name: str | None = None, *, seed: int = 0) -> OpenDataset:
    """A data set of the package `datasets` or of torchvision's kind, or a dictionary from splits to such objects.

    One object has no splits, and is for few-shot episodes or the extraction of features.

    Args:
        name: in scores; by default the name by which the data set was loaded or the name of its class, after "my-" if
            it is that of a published data set.
        seed: seed of a drawn validation split.
    """
    splits = _splits(data)
    name = name or _name(next(iter(splits.values())))
    parts = {split: images_of(each, f"{name}, {split}") for split, each in splits.items()}
    kinds = {SEVERAL in part.about for part in parts.values()}
    if len(kinds) > 1:
        raise UserError(f"{name}: images have one class in some splits, and several in others")
    return survey_parts(describe_parts(name, parts, several=kinds == {True}), parts, seed=seed).checked()


def _splits(data: Any) -> dict[str, Any]:
    """Our name of each split → its object, in our order."""
    if not isinstance(data, Mapping):
        return {ALL: data}
    words = {word: split for split, names in SPLIT_FOLDERS.items() for word in names} | {ALL: ALL}
    found: dict[str, Any] = {}
    for name, each in data.items():
        split = words.get(str(name).lower())
        if split is None:
            raise UserError(f"{name!r:.60} is not the name of a split; name them train, val and test, or leave it out")
        if split in found:
            raise UserError(f"two splits are for {split}, one of them {name!r}; leave one out")
        found[split] = each
    if not found:
        raise UserError("a data set without splits; give {'train': …, 'test': …}")
    return {split: found[split] for split in (*SPLIT_FOLDERS, ALL) if split in found}


def _name(data: Any) -> str:
    while is_subset(data):
        data = data.dataset
    name = getattr(getattr(data, "info", None), "dataset_name", None) or type(data).__name__.lower()
    return f"my-{name}" if name in DATASETS else str(name)
