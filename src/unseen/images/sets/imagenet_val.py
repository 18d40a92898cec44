"""ImageNet-1K's validation images, the ID test set of the ImageNet-like shifts."""

from pathlib import Path

from unseen.images.dataset import Dataset, Layout
from unseen.images.formats.named_folders import imagenet_classes, refuse_unknown
from unseen.images.imagenet_1k import imagenet_1k
from unseen.images.rows import ALL, Listing, Row

FOLDERS = ("imagenet", "ILSVRC2012")


def read(place: Path) -> Listing:
    """Class folders, flat images with their ground truth, or tar files; see `unseen.images.imagenet_1k`."""
    source = imagenet_1k(place, split="val")
    rows = [Row(entry.id, entry.label, ALL) for entry in source.entries]
    refuse_unknown(place, {row.label for row in rows}, imagenet_classes(), "synset ids such as n01440764")
    return Listing(rows, lambda: source)


VAL = Dataset(
    name="val",
    title="ImageNet-1K, validation",
    space="imagenet-1k",
    classes=1000,
    counts={"test": 50_000},
    layouts=tuple(Layout(folder, (), read) for folder in FOLDERS),
    get="image-net.org: ILSVRC2012_img_val.tar and the development kit",
    licence="research only",
    citation="Russakovsky et al. 2015, ImageNet Large Scale Visual Recognition Challenge",
    shifted=False,
)
DATASETS = (VAL,)
