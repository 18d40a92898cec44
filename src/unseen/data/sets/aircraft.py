"""FGVC-Aircraft: 100 variants of aircraft."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, fields, files_listing

PARTS = ("train", "val", "test")


def read(place: Path) -> Listing:
    """Each part has a text file with one line per image: its number and its variant."""
    rows = [
        Row(f"data/images/{image}.jpg", variant, part)
        for part in PARTS
        for image, variant in fields(place / f"data/images_variant_{part}.txt", 2, "an image and its variant")
    ]
    return files_listing(place, rows)


DATASET = Dataset(
    name="aircraft",
    title="FGVC-Aircraft",
    also_called=("fgvc-aircraft-2013b",),
    classes=100,
    metric="mean-per-class",
    test="author",
    validation="author",
    few_shot="kornblith",
    counts={"train": 3334, "val": 3333, "test": 3333},
    layouts=(
        Layout("fgvc-aircraft-2013b", ("data/images", *(f"data/images_variant_{part}.txt" for part in PARTS)), read),
    ),
    get="Oxford VGG, FGVC-Aircraft: fgvc-aircraft-2013b.tar.gz",
    licence="non-commercial research only",
    citation="Maji et al. 2013, Fine-Grained Visual Classification of Aircraft",
)
