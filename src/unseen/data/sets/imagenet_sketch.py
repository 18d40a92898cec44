"""ImageNet-Sketch: black-and-white sketches of all classes."""

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.named_folders import synset_folders

DATASETS = (
    Dataset(
        name="imagenet-sketch",
        title="ImageNet-Sketch",
        space="imagenet-1k",
        shifted=True,
        classes=1000,
        counts={"test": 50_889},
        layouts=(Layout("imagenet-sketch", (), synset_folders), Layout("sketch", (), synset_folders)),
        get="github.com/HaohanWang/ImageNet-Sketch: ImageNet-Sketch.zip",
        licence="MIT",
        citation="Wang et al. 2019, Learning Robust Global Representations by Penalizing Local Predictive Power",
    ),
)
