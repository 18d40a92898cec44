"""Data sets with boxes or maps: one file each, with `DATASETS`, the data sets in it. A new file needs nothing else."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from unseen.errors import UserError, did_you_mean
from unseen.images.dense.dense_dataset import DenseDataset


@cache
def dense_datasets() -> dict[str, DenseDataset]:
    """All of them by name, in the order of their files."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return {dataset.name: dataset for module in modules for dataset in module.DATASETS}


def get_dense_dataset(name: str) -> DenseDataset:
    """The data set of that name; an unknown one is a user's error."""
    known = dense_datasets()
    if name not in known:
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise UserError(f"no data set '{name}' with boxes or maps{hint}")
    return known[name]
