"""The data sets with boxes or maps that a study is asked for: by name, or a user's own by their folder."""

from collections.abc import Sequence
from pathlib import Path

from unseen.errors import UserError
from unseen.files import read_text
from unseen.images.dense.dense_dataset import OpenDenseDataset, open_dense_dataset
from unseen.images.dense.own_data import open_coco, open_mask_folders
from unseen.images.dense.sets import dense_datasets, get_dense_dataset

CLASSES, IMAGES, MASKS = "classes.txt", "images", "masks"
ANNOTATIONS = {"train": "train.json", "test": "test.json"}


def open_dense(names: Sequence[str], root: Path | None, kinds: Sequence[str]) -> list[OpenDenseDataset]:
    """Open data sets; without names, all that are there and have labels of some kinds.

    Args:
        names: of data sets, or folders of a user's own.
        root: the folder that named ones are below.
        kinds: of labels, for those that are not named.
    """
    if root is not None and not root.is_dir():
        raise UserError(f"{root}: no such folder; give the one that all data sets are below")
    if names:
        return [own_dataset(Path(name)) if Path(name).is_dir() else _named(name, root) for name in names]
    found = []
    for dataset in dense_datasets().values():
        if dataset.kind in kinds:
            try:
                found.append(open_dense_dataset(dataset, root))
            except UserError:  # nobody asked for it by name
                continue
    return found


def _named(name: str, root: Path | None) -> OpenDenseDataset:
    return open_dense_dataset(get_dense_dataset(name), root)


def own_dataset(folder: Path) -> OpenDenseDataset:
    """A user's own data set: COCO's JSON (`train.json`, `test.json` and `images`), or images and masks.

    Masks lie as `images/train`, `masks/train`, `images/test`, `masks/test`, with the names of classes in `classes.txt`,
    one to a line, in the order of their numbers in the masks.
    """
    name = folder.resolve().name
    if all((folder / file).is_file() for file in ANNOTATIONS.values()):
        return open_coco(name, folder / IMAGES, {split: folder / file for split, file in ANNOTATIONS.items()})
    if not (folder / MASKS).is_dir() or not (folder / CLASSES).is_file():
        raise UserError(
            f"{folder}: not a data set; expected train.json, test.json and images (COCO's form), or images, masks and "
            "classes.txt"
        )
    classes = [line.strip() for line in read_text(folder / CLASSES).splitlines() if line.strip()]
    if len(set(classes)) < max(len(classes), 2):
        raise UserError(f"{folder / CLASSES}: expected the names of two classes at least, each once")
    return open_mask_folders(name, folder, classes)
