"""A user's own images with boxes (COCO JSON) or maps of classes (folders of masks), as data sets."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from unseen.errors import UserError
from unseen.images.datasets.listing import Row, files_listing
from unseen.images.dense.coco import read_coco
from unseen.images.dense.dense_dataset import DenseDataset, DenseListing, OpenDenseDataset
from unseen.images.dense.map_files import IMAGE, ClassMaps, check_class_count, paired_listing
from unseen.images.listing import list_folder
from unseen.images.manifest import Manifest

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")


def open_coco(name: str, images: Path, annotations: Mapping[str, Path]) -> OpenDenseDataset:
    """Images with boxes in COCO's JSON.

    Args:
        name: of the data set.
        images: the folder that `file_name` is below.
        annotations: `train` and `test` → the file of each.
    """
    found = read_coco(annotations)
    rows = [Row(image, IMAGE, split) for image, split in found.images]
    return _opened(name, "boxes", found.classes, files_listing(images, rows), rows, found)


def _opened(
    name: str, kind: Any, classes: tuple[str, ...], listing: Any, rows: Sequence[Row], reader: Any
) -> OpenDenseDataset:
    if listing.missing:
        raise UserError(f"{name}: {len(listing.missing):,} images are not there, the first {listing.missing[0]}")
    source = listing.open()
    dataset = DenseDataset(name, name, kind, classes, {}, (), "it is your own", "your own", "")
    return OpenDenseDataset(dataset, source, Manifest(source.entries, [row.part for row in rows]), reader)


def open_mask_folders(name: str, root: Path, classes: Sequence[str]) -> OpenDenseDataset:
    """Images and masks in `images/train`, `masks/train`, `images/test` and `masks/test`; a mask is a PNG of its
    image's name with the number of a class for each pixel, 255 for none.

    Args:
        classes: their names, in the order of their numbers from 0 on.
    """
    check_class_count(classes, str(root))
    images = []
    for split in ("train", "test"):
        folder = root / "images" / split
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; expected images/train, masks/train, images/test, masks/test")
        names = sorted(entry.name for entry in list_folder(folder) if entry.name.lower().endswith(ENDINGS))
        images += [(f"images/{split}/{image}", split) for image in names]
    listing: DenseListing = paired_listing(root, images, _mask, lambda names: ClassMaps(root, names))
    rows = [Row(image, IMAGE, part) for image, part in images]
    return _opened(name, "classes", tuple(classes), listing, rows, listing.labels)


def _mask(image: str) -> str:
    path = PurePosixPath(image)
    return str(PurePosixPath("masks", *path.parts[1:]).with_suffix(".png"))
