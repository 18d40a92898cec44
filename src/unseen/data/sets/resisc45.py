"""RESISC45: aerial photographs of 45 kinds of scene.

Its authors have no split. The one here, 60, 20 and 20 percent, is that of the Visual Task Adaptation Benchmark, which
is the order of TensorFlow Datasets.
"""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row
from unseen.data.formats.benchmark_order import divided, drawn
from unseen.data.formats.class_folders import class_folders


def read(place: Path) -> Listing:
    """One folder per class with files such as `airplane/airplane_001.jpg`."""
    return divided(class_folders(place), drawn(train=60, val=20), class_and_file)


def class_and_file(row: Row) -> str:
    """The key of an image in TensorFlow Datasets, `airplane_airplane_001.jpg`."""
    return row.id.replace("/", "_", 1)


DATASET = Dataset(
    name="resisc45",
    title="RESISC45",
    also_called=("nwpu-resisc45",),
    classes=45,
    metric="top1",
    test="author",
    validation="author",
    few_shot="other",
    counts={"train": 18_900, "val": 6300, "test": 6300},
    layouts=(Layout("NWPU-RESISC45", (), read),),
    get="Northwestern Polytechnical University, NWPU-RESISC45: NWPU-RESISC45.rar",
    licence="not stated",
    citation="Cheng et al. 2017, Remote Sensing Image Scene Classification: Benchmark and State of the Art",
)
