"""CIFAR-10.1: new images from Tiny Images, selected like CIFAR-10's; v4 and the class-balanced v6."""

from functools import partial

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.cifar_arrays import npy_arrays

IMAGES = {"v4": 2021, "v6": 2000}
FOLDERS = ("cifar-10.1", "CIFAR-10.1/datasets")


def _set(version: str) -> Dataset:
    files = (f"cifar10.1_{version}_data.npy", f"cifar10.1_{version}_labels.npy")
    read = partial(npy_arrays, images=files[0], labels=files[1])
    return Dataset(
        name=f"cifar-10.1-{version}",
        title=f"CIFAR-10.1, {version}",
        space="cifar-10",
        shifted=True,
        classes=10,
        counts={"test": IMAGES[version]},
        layouts=tuple(Layout(folder, files, read) for folder in FOLDERS),
        get=f"github.com/modestyachts/CIFAR-10.1, datasets: {' and '.join(files)}",
        licence="MIT",
        citation="Recht et al. 2018, Do CIFAR-10 Classifiers Generalize to CIFAR-10?",
    )


DATASETS = tuple(map(_set, IMAGES))
