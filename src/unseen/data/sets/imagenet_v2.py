"""ImageNet-V2: new images collected like ImageNet's, in three variants that differ in how images were selected."""

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.named_folders import numbered_folders

VARIANTS = {
    "matched-frequency": "imagenetv2-matched-frequency-format-val",
    "threshold-0.7": "imagenetv2-threshold0.7-format-val",
    "top-images": "imagenetv2-top-images-format-val",
}
"""The folder name in each archive."""

DATASETS = tuple(
    Dataset(
        name=f"imagenetv2-{variant}-format-val",
        title=f"ImageNet-V2, {variant}",
        space="imagenet-1k",
        shifted=True,
        classes=1000,
        counts={"test": 10_000},
        layouts=(Layout(folder, (), numbered_folders), Layout(f"imagenet-v2/{folder}", (), numbered_folders)),
        get=f"imagenetv2.org: {folder.removesuffix('-format-val')}.tar.gz",
        licence="MIT",
        citation="Recht et al. 2019, Do ImageNet Classifiers Generalize to ImageNet?",
    )
    for variant, folder in VARIANTS.items()
)
