"""ImageNet-Sketch: black-and-white sketches of all classes."""

from unseen.images.datasets.dataset import Layout
from unseen.images.shift_sets.labels import synset_folders
from unseen.images.shift_sets.shift_set import ShiftSet

SETS = (
    ShiftSet(
        name="imagenet-sketch",
        title="ImageNet-Sketch",
        space="imagenet-1k",
        classes=1000,
        images=50_889,
        layouts=(Layout("imagenet-sketch", (), synset_folders), Layout("sketch", (), synset_folders)),
        get="github.com/HaohanWang/ImageNet-Sketch: ImageNet-Sketch.zip",
        licence="MIT",
        citation="Wang et al. 2019, Learning Robust Global Representations by Penalizing Local Predictive Power",
    ),
)
