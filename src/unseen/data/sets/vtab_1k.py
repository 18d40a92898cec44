"""VTAB-1k: 19 tasks with 800 training and 200 validation images each, and all test images (Zhai et al. 2019).

A task is read from the lists of images that circulate, or from the files of the data set that it is a sample of. The
images are then found by the order of TensorFlow Datasets (`unseen.data.formats.benchmark_order`). There are only lists
for three tasks: TensorFlow Datasets drew the images of Caltech-101 in the order in which a file system lists them,
divides SUN397 by lists of its own and compresses its images again, and changes the images of diabetic retinopathy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row
from unseen.data.formats.benchmark_order import (
    AUTHORS,
    Cuts,
    Key,
    by_name,
    by_number,
    divided,
    drawn,
    first_images,
    held_out,
)
from unseen.data.formats.split_lists import LISTS, split_lists
from unseen.data.sets import (
    caltech101,
    cifar100,
    clevr,
    diabetic_retinopathy,
    dmlab,
    dsprites,
    dtd,
    eurosat,
    flowers,
    kitti_distance,
    patch_camelyon,
    pets,
    resisc45,
    smallnorb,
    sun397,
    svhn,
)

FOLDER = "vtab-1k"
MOST = {"train": 800, "val": 200}
CITATION = "Zhai et al. 2019, A Large-scale Study of Representation Learning with the Visual Task Adaptation Benchmark"


@dataclass(frozen=True)
class Task:
    """A task of the benchmark.

    Attributes:
        folder: its folder among the lists.
        full: the data set that it is a sample of.
        test: number of its test images.
        cuts: its parts, of those of the authors; none if `full` has the parts of the benchmark, in its order.
        key: the key of an image in TensorFlow Datasets.
        original: whether its images can be found in the original files.
    """

    folder: str
    full: Dataset
    test: int
    cuts: Cuts | None = None
    key: Key = by_number
    original: bool = True


def _patch(row: Row) -> str:
    """`train_0` of the first patch, `valid_0` of the first one for validation."""
    part, _, number = row.id.partition("/")
    return f"{'valid' if part == 'val' else part}_{int(number)}"


def _texture(row: Row) -> str:
    """`banded/banded_0002.jpg`."""
    return row.id.removeprefix("images/")


def _land(row: Row) -> str:
    """`Forest_Forest_1.jpg`."""
    return row.id.replace("/", "_", 1)


TASKS = (
    Task("caltech101", caltech101.DATASET, 6084, original=False),
    Task("cifar", cifar100.DATASET, 10_000, held_out(10)),
    Task("dtd", dtd.DATASET, 1880, AUTHORS, _texture),
    Task("oxford_flowers102", flowers.DATASET, 6149, AUTHORS, by_name),
    Task("oxford_iiit_pet", pets.DATASET, 3669, held_out(20), by_name),
    Task("svhn", svhn.DATASET, 26_032, held_out(10)),
    Task("sun397", sun397.DATASET, 21_750, original=False),
    Task("patch_camelyon", patch_camelyon.DATASET, 32_768, AUTHORS, _patch),
    Task("eurosat", eurosat.DATASET, 5400, drawn(train=60, val=20), _land),
    Task("resisc45", resisc45.DATASET, 6300),
    Task("diabetic_retinopathy", diabetic_retinopathy.DATASET, 42_670, original=False),
    Task("clevr_count", clevr.DATASETS[0], 15_000),
    Task("clevr_dist", clevr.DATASETS[1], 15_000),
    Task("dmlab", dmlab.DATASET, 22_735, AUTHORS, dmlab.file_name),
    Task("kitti", kitti_distance.DATASET, 711),
    Task("dsprites_loc", dsprites.DATASETS[0], 73_728),
    Task("dsprites_ori", dsprites.DATASETS[1], 73_728),
    Task("smallnorb_azi", smallnorb.DATASETS[0], 12_150),
    Task("smallnorb_ele", smallnorb.DATASETS[1], 12_150),
)


def read_originals(place: Path, layout: Layout, task: Task) -> Listing:
    """The images of a task in the files of the full data set."""
    listing = layout.read(place)
    return first_images(listing if task.cuts is None else divided(listing, task.cuts, task.key), MOST)


def _layouts(task: Task) -> Sequence[Layout]:
    lists = Layout(f"{FOLDER}/{task.folder}", tuple(LISTS.values()), partial(split_lists, classes=task.full.classes))
    originals = task.full.layouts if task.original else ()
    return lists, *(
        Layout(each.folder, each.files, partial(read_originals, layout=each, task=task)) for each in originals
    )


def _dataset(task: Task) -> Dataset:
    full = task.full
    originals = f", or {full.name}: {full.get}" if task.original else ""
    return Dataset(
        name=f"vtab-1k-{full.name}",
        title=f"{full.title} (VTAB-1k)",
        classes=full.classes,
        metric="top1",
        test="author",
        validation="author",
        few_shot="other",
        gaps=True,
        sample_of=full.name,
        counts={**MOST, "test": task.test},
        layouts=tuple(_layouts(task)),
        get=f"a copy of VTAB-1k with {', '.join(LISTS.values())} in the folder {FOLDER}/{task.folder}{originals}",
        licence=full.licence,
        citation=f"{CITATION}; {full.citation}",
    )


DATASETS = tuple(_dataset(task) for task in TASKS)
