"""ImageNet-R: art, cartoons, toys and other renditions of 200 classes."""

from unseen.images.datasets.dataset import Layout
from unseen.images.shift_sets.labels import synset_folders
from unseen.images.shift_sets.shift_set import ShiftSet

SETS = (
    ShiftSet(
        name="imagenet-r",
        title="ImageNet-R",
        space="imagenet-1k",
        classes=200,
        images=30_000,
        layouts=(Layout("imagenet-r", (), synset_folders),),
        get="github.com/hendrycks/imagenet-r: imagenet-r.tar",
        licence="MIT",
        citation="Hendrycks et al. 2021, The Many Faces of Robustness",
    ),
)
