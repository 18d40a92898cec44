"""Settings of `unseen levels splits build`, for its option `--set`."""

from dataclasses import dataclass

from unseen.reading.keys import key


@dataclass(frozen=True)
class DrawKeys:
    """How training and test images are drawn; as in ImageNet-CoG by default."""

    test: int = key(50, "test images per concept", least=1)
    min_train: int = key(732, "minimum number of training images per concept", least=1)
    max_train: int = key(1300, "maximum number of training images per concept", least=1)
    seed: int = key(0, "seed of the draw", least=0)
