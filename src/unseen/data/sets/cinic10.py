"""CINIC-10: images from ImageNet in the classes of CIFAR-10, and CIFAR-10's own images.

About a fifth of its test images are CIFAR-10's, some from its training set. For models trained on CIFAR-10, use only
the images from ImageNet (`cinic-10-imagenet`).
"""

from functools import partial

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.named_folders import cifar_folders

FOLDERS = ("CINIC-10/test", "cinic-10/test")
FROM_CIFAR = "cifar10-"


def _from_imagenet(name: str) -> bool:
    return not name.startswith(FROM_CIFAR)


ALL_IMAGES = Dataset(
    name="cinic-10",
    title="CINIC-10, test",
    space="cifar-10",
    shifted=True,
    classes=10,
    counts={"test": 90_000},
    layouts=tuple(Layout(folder, (), cifar_folders) for folder in FOLDERS),
    get="datashare.ed.ac.uk: CINIC-10.tar.gz",
    licence="MIT",
    citation="Darlow et al. 2018, CINIC-10 is not ImageNet or CIFAR-10",
)
FROM_IMAGENET = Dataset(
    name="cinic-10-imagenet",
    title="CINIC-10, test images from ImageNet",
    space="cifar-10",
    shifted=True,
    classes=10,
    counts={"test": 70_000},
    layouts=tuple(Layout(folder, (), partial(cifar_folders, keep=_from_imagenet)) for folder in FOLDERS),
    get=ALL_IMAGES.get,
    licence=ALL_IMAGES.licence,
    citation=ALL_IMAGES.citation,
)
DATASETS = (ALL_IMAGES, FROM_IMAGENET)
