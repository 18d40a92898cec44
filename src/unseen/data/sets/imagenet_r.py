"""ImageNet-R: art, cartoons, toys and other renditions of 200 classes."""

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.named_folders import synset_folders

DATASETS = (
    Dataset(
        name="imagenet-r",
        title="ImageNet-R",
        space="imagenet-1k",
        shifted=True,
        classes=200,
        counts={"test": 30_000},
        layouts=(Layout("imagenet-r", (), synset_folders),),
        get="github.com/hendrycks/imagenet-r: imagenet-r.tar",
        licence="MIT",
        citation="Hendrycks et al. 2021, The Many Faces of Robustness",
    ),
)
