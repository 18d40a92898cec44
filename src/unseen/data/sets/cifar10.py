"""CIFAR-10: 60,000 photographs of 32 × 32 pixels."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing
from unseen.data.formats.cifar_files import binary_batches, python_batches

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = ("test_batch",)
BINARY_TRAIN, BINARY_TEST = tuple(f"{name}.bin" for name in TRAIN), tuple(f"{name}.bin" for name in TEST)
META, BINARY_META = "batches.meta", "batches.meta.txt"


def read_python(place: Path) -> Listing:
    """The pickled Python batches, the version torchvision reads."""
    return python_batches(place, TRAIN, TEST, META, "label_names", "labels")


def read_binary(place: Path) -> Listing:
    """The binary batches."""
    return binary_batches(place, BINARY_TRAIN, BINARY_TEST, BINARY_META, label_bytes=1)


DATASET = Dataset(
    name="cifar10",
    title="CIFAR-10",
    classes=10,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="kornblith",
    counts={"train": 40_000, "val": 10_000, "test": 10_000},
    layouts=(
        Layout("cifar-10-batches-py", (*TRAIN, *TEST, META), read_python),
        Layout("cifar-10-batches-bin", (*BINARY_TRAIN, *BINARY_TEST, BINARY_META), read_binary),
    ),
    get="the University of Toronto, CIFAR: cifar-10-python.tar.gz",
    licence="not stated",
    citation="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
)
