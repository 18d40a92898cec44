"""All data sets of the task study, by name."""

from unseen.errors import UserError, did_you_mean
from unseen.images.datasets import (
    aircraft,
    caltech101,
    cars,
    chestx,
    cifar10,
    cifar100,
    cropdiseases,
    digits,
    drawings,
    dtd,
    eurosat,
    fashion_mnist,
    flowers,
    food101,
    isic,
    pets,
    sun397,
    voc2007,
)
from unseen.images.datasets.dataset import Dataset

KORNBLITH = (aircraft, caltech101, cars, cifar10, cifar100, dtd, flowers, food101, pets, sun397, voc2007)
CD_FSL = (cropdiseases, eurosat, isic, chestx)
EVERYWHERE = (digits, drawings, fashion_mnist)

DATASETS: dict[str, Dataset] = {module.DATASET.name: module.DATASET for module in (*KORNBLITH, *CD_FSL, *EVERYWHERE)}
"""In the order of the paper's tables, then those that come in packages."""


def get_dataset(name: str) -> Dataset:
    """The data set of that name; an unknown one is a user's error."""
    if name not in DATASETS:
        raise UserError(f"no data set '{name}'{did_you_mean(name, DATASETS) or '; there are ' + ', '.join(DATASETS)}")
    return DATASETS[name]
