"""ImageNet-A: photographs of 200 classes that a ResNet-50 misclassifies."""

from unseen.images.datasets.dataset import Layout
from unseen.images.shift_sets.labels import synset_folders
from unseen.images.shift_sets.shift_set import ShiftSet

SETS = (
    ShiftSet(
        name="imagenet-a",
        title="ImageNet-A",
        space="imagenet-1k",
        classes=200,
        images=7_500,
        layouts=(Layout("imagenet-a", (), synset_folders),),
        get="github.com/hendrycks/natural-adv-examples: imagenet-a.tar",
        licence="MIT",
        citation="Hendrycks et al. 2021, Natural Adversarial Examples",
    ),
)
