"""Rendered rooms with furniture: classes, boxes, surface normals and depths of one set of images.

`scripts/render_rooms.py` renders them from Debian's furniture models. No piece of furniture occurs in both training and
test rooms. Below the folder `rooms`, with SPLIT for `train` and `test`:

    images/SPLIT/NUMBER.png    RGB
    masks/SPLIT/NUMBER.png     8-bit grey: the index of each pixel's class in `CLASSES`, 255 if unknown
    normals/SPLIT/NUMBER.png   RGB: −1 is 0 and 1 is 255; black if the normal is unknown
    depth/SPLIT/NUMBER.png     16-bit grey: millimetres along the optical axis, 0 if the depth is unknown
    boxes/SPLIT.json           COCO's format: all images of the split, and boxes around the visible part of each piece

Normals are in camera coordinates (x to the right, y up, z towards the camera) and face the camera: a floor is (0, 1, 0)
for a level camera, and (0, cos p, sin p) for a camera pitched down by the angle p.
"""

from dataclasses import replace
from pathlib import Path

from unseen.data.core.dataset import KINDS, Dataset, Layout, Target
from unseen.data.core.dense.labels import Kind
from unseen.data.core.rows import IMAGE, Listing, Row, files_listing
from unseen.data.formats.coco import CocoBoxes, read_coco
from unseen.data.formats.map_files import ClassMaps, PictureMaps, paired_listing
from unseen.errors import UserError

FURNITURE = (
    "appliance",
    "armchair",
    "bathroom fixture",
    "bed",
    "cabinet",
    "chair",
    "lamp",
    "person",
    "plant",
    "shelves",
    "sofa",
    "table",
)
CLASSES = ("floor", "wall", "ceiling", *FURNITURE)
ANNOTATIONS = {"train": "boxes/train.json", "test": "boxes/test.json"}
FOLDERS: dict[Kind, str] = {"classes": "masks", "normals": "normals", "depth": "depth"}


def _listing(place: Path, kind: Kind) -> Listing:
    """The images named in the box files: the four data sets share the same images."""
    annotations = read_coco({split: place / name for split, name in ANNOTATIONS.items()})
    if annotations.classes != FURNITURE:
        raise UserError(f"{place / ANNOTATIONS['train']}: its categories are not {', '.join(FURNITURE)}")
    images = [(f"images/{name}", split) for name, split in annotations.images]
    if kind == "boxes":
        return _boxes(place, images, annotations)

    def label_of(image: str) -> str:
        return f"{FOLDERS[kind]}/{image.removeprefix('images/')}"

    if kind == "classes":
        return paired_listing(place, images, label_of, lambda names: ClassMaps(place, names))
    return paired_listing(place, images, label_of, lambda names: PictureMaps(place, names, kind))


def _boxes(place: Path, images: list[tuple[str, str]], annotations: CocoBoxes) -> Listing:
    listing = files_listing(place, [Row(name, IMAGE, split) for name, split in images])
    there = {row.id for row in listing.rows}
    kept = [number for number, (name, _) in enumerate(images) if name in there]
    return replace(listing, labels=annotations.chosen(kept), unmatched=annotations.unmatched)


def _dataset(target: Target, title: str, classes: tuple[str, ...]) -> Dataset:
    kind = KINDS[target]
    folders = (FOLDERS[kind],) if kind in FOLDERS else ()
    return Dataset(
        name=f"rooms-{kind}",
        title=f"rendered rooms, {title}",
        also_called=("rooms",),
        target=target,
        classes=len(classes),
        names=classes,
        layouts=(Layout("rooms", ("images", *folders, *ANNOTATIONS.values()), lambda at: _listing(at, kind)),),
        get="render it with scripts/render_rooms.py of this project's source",
        licence="CC BY 3.0; the pieces and their authors are in the folder's ATTRIBUTION.md",
        citation="Puybaret et al. 2020, Sweet Home 3D furniture libraries 1.8",
    )


DATASETS = (
    _dataset("map", "segmentation", CLASSES),
    _dataset("boxes", "detection", FURNITURE),
    _dataset("normals", "surface normals", ()),
    _dataset("depth", "depth", ()),
)
