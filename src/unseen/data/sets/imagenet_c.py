"""ImageNet-C: ImageNet's validation images with 19 corruptions at 5 severities.

Read as distributed by its authors (`_on-disk`), or computed from the validation images (`_in-memory`) for the
corruptions implemented here. The two give different numbers; the suffixes, which are the ImageNet testbed's,
distinguish them.
"""

from functools import partial
from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing
from unseen.data.corruptions.corrupted import CorruptedImages
from unseen.data.corruptions.corruptions import CORRUPTIONS, SEVERITIES
from unseen.data.formats.named_folders import synset_folders
from unseen.data.sets import imagenet_val

GROUPS = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    "extra": ("speckle_noise", "gaussian_blur", "spatter", "saturate"),
}
"""The archive that contains each corruption."""
LICENCE, CITATION = "CC BY 4.0", "Hendrycks and Dietterich 2019, Benchmarking Neural Network Robustness"


def _read_corrupted(place: Path, corruption: str, severity: int) -> Listing:
    listing = imagenet_val.read(place)
    return Listing(listing.rows, lambda: CorruptedImages(listing.open(), corruption, severity))


def _on_disk(group: str, corruption: str, severity: int) -> Dataset:
    folders = (f"imagenet-c/{corruption}/{severity}", f"imagenet-c/{group}/{corruption}/{severity}")
    return Dataset(
        name=f"imagenet-c.{corruption}.{severity}_on-disk",
        title=f"ImageNet-C, {corruption}, severity {severity}",
        space="imagenet-1k",
        shifted=True,
        classes=1000,
        counts={"test": 50_000},
        layouts=tuple(Layout(folder, (), synset_folders) for folder in folders),
        get=f"github.com/hendrycks/robustness: {group}.tar",
        licence=LICENCE,
        citation=CITATION,
    )


def _in_memory(corruption: str, severity: int) -> Dataset:
    read = partial(_read_corrupted, corruption=corruption, severity=severity)
    return Dataset(
        name=f"imagenet-c.{corruption}.{severity}_in-memory",
        title=f"ImageNet's validation images, {corruption}, severity {severity}",
        space="imagenet-1k",
        shifted=True,
        classes=1000,
        counts={"test": 50_000},
        layouts=tuple(Layout(folder, (), read) for folder in imagenet_val.FOLDERS),
        get=imagenet_val.VAL.get,
        licence=imagenet_val.VAL.licence,
        citation=CITATION,
    )


DATASETS = (
    *(_on_disk(group, name, severity) for group, names in GROUPS.items() for name in names for severity in SEVERITIES),
    *(_in_memory(name, severity) for name in CORRUPTIONS for severity in SEVERITIES),
)
