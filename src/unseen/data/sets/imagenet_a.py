"""ImageNet-A: photographs of 200 classes that a ResNet-50 misclassifies."""

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.named_folders import synset_folders

DATASETS = (
    Dataset(
        name="imagenet-a",
        title="ImageNet-A",
        space="imagenet-1k",
        shifted=True,
        classes=200,
        counts={"test": 7_500},
        layouts=(Layout("imagenet-a", (), synset_folders),),
        get="github.com/hendrycks/natural-adv-examples: imagenet-a.tar",
        licence="MIT",
        citation="Hendrycks et al. 2021, Natural Adversarial Examples",
    ),
)
