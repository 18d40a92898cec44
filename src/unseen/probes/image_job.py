"""What jobs share that look at a backbone image by image: where it looks, what its features keep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unseen.metrics.correlation import NORMAL_975
from unseen.probes.job import Fit, Job

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec


@dataclass(frozen=True)
class ImageJob(Job):
    """Everything that decides what is measured of a backbone on a set of images.

    The values of its result are `images`, the ids in order, `by_image`, metric → one number for each image, and for
    each metric its mean under its name.

    Attributes:
        spec: of the backbone as it was loaded; what the protocol changes in the preprocessing is in the protocol.
        pictures: SHA-256 of the ids and the contents of all images.
        precision: as in `unseen.features.settings.Settings`.
    """

    variant: ClassVar[str]
    """What scores call it."""

    study: str
    protocol: Any
    backbone: str
    spec: "Spec"
    domain: str
    pictures: str
    precision: str
    revision: int = 1

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        """The mean over images of each metric, with its interval by the normal distribution."""
        by_image, count = values["by_image"], len(values["images"])
        if not count or any(len(of) != count for of in by_image.values()):
            raise ValueError("one number for each image is expected")
        for metric, of in by_image.items():
            half = NORMAL_975 * float(np.std(of, ddof=1)) / sqrt(count) if count > 1 else None
            yield Fit(cls.variant, None, job.get("seed", 0), [(metric, values[metric])], {}, half)


def image_values(ids: list[str], by_image: Mapping[str, list[float]]) -> dict[str, Any]:
    """The values of a result, from one number for each image and metric."""
    means = {metric: float(np.mean(of)) for metric, of in by_image.items()}
    return {"images": ids, "by_image": {metric: list(of) for metric, of in by_image.items()}, **means}
