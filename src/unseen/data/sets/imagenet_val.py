"""ImageNet-1K's validation images, the ID test set of the ImageNet-like shifts."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import ALL, Listing, Row
from unseen.data.formats.named_folders import imagenet_classes, refuse_unknown
from unseen.data.sources.imagenet_1k import imagenet_1k

FOLDERS = ("imagenet", "ILSVRC2012")


def read(place: Path) -> Listing:
    """Class folders, flat images with their ground truth, or tar files; see `unseen.data.sources.imagenet_1k`."""
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
