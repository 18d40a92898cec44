"""CIFAR-100: 60,000 photographs of 32 × 32 pixels, in 100 (fine) classes."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing
from unseen.data.formats.cifar_files import binary_batches, python_batches


def read_python(place: Path) -> Listing:
    """The pickled Python batches, the version torchvision reads."""
    return python_batches(place, ("train",), ("test",), "meta", "fine_label_names", "fine_labels")


def read_binary(place: Path) -> Listing:
    """The binary batches; the first byte of a record is one of 20 coarse classes, which are not used."""
    return binary_batches(place, ("train.bin",), ("test.bin",), "fine_label_names.txt", label_bytes=2)


DATASET = Dataset(
    name="cifar100",
    title="CIFAR-100",
    classes=100,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="kornblith",
    counts={"train": 40_000, "val": 10_000, "test": 10_000},
    layouts=(
        Layout("cifar-100-python", ("train", "test", "meta"), read_python),
        Layout("cifar-100-binary", ("train.bin", "test.bin", "fine_label_names.txt"), read_binary),
    ),
    get="University of Toronto, CIFAR: cifar-100-python.tar.gz",
    licence="not stated",
    citation="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
)
