"""Describable Textures: 47 kinds of texture, in the first of its ten splits."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, fields, files_listing

PARTS = ("train", "val", "test")


def read(place: Path) -> Listing:
    """Each part of a split has a text file with one line per image: texture and file, `banded/banded_0002.jpg`."""
    rows = [
        Row(f"images/{image}", image.partition("/")[0], part)
        for part in PARTS
        for (image,) in fields(place / f"labels/{part}1.txt", 1, "a texture and an image")
    ]
    return files_listing(place, rows)


DATASET = Dataset(
    name="dtd",
    title="Describable Textures (DTD)",
    also_called=("describable textures",),
    classes=47,
    metric="top1",
    test="author",
    validation="author",
    few_shot="kornblith",
    counts={"train": 1880, "val": 1880, "test": 1880},
    layouts=(Layout("dtd/dtd", ("images", *(f"labels/{part}1.txt" for part in PARTS)), read),),
    get="Oxford VGG, Describable Textures: dtd-r1.0.1.tar.gz",
    licence="research only",
    citation="Cimpoi et al. 2014, Describing Textures in the Wild",
)
