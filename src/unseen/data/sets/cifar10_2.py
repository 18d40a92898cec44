"""CIFAR-10.2: 2,000 further test images from Tiny Images."""

from functools import partial

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.cifar_arrays import npz_arrays

FILE = "cifar102_test.npz"

DATASETS = (
    Dataset(
        name="cifar-10.2",
        title="CIFAR-10.2, test",
        space="cifar-10",
        shifted=True,
        classes=10,
        counts={"test": 2000},
        layouts=tuple(
            Layout(folder, (FILE,), partial(npz_arrays, file=FILE)) for folder in ("cifar-10.2", "CIFAR-10.2")
        ),
        get=f"github.com/modestyachts/cifar-10.2: {FILE}",
        licence="not stated",
        citation="Lu et al. 2020, Harder or Different? A Closer Look at Distribution Shift in Dataset Reproduction",
    ),
)
