"""Common fields of jobs that examine a backbone image by image: saliency and inversion."""

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
    """Everything that determines what is measured of a backbone on a set of images.

    The values of its result are `images`, the ids in order, `by_image`, metric → one number per image, and the mean of
    each metric under its name.

    Attributes:
        spec: the backbone as it was loaded; changes of the preprocessing are in the protocol.
        pictures: SHA-256 of the ids and the contents of all images, and of whether they are turned.
        precision: as in `unseen.features.settings.Settings`.
    """

    variant: ClassVar[str]
    """Its name in scores."""

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
        """The mean over images of each metric, with its normal-distribution interval."""
        by_image, count = values["by_image"], len(values["images"])
        if not count or any(len(of) != count for of in by_image.values()):
            raise ValueError("one number for each image is expected")
        for metric, of in by_image.items():
            half = NORMAL_975 * float(np.std(of, ddof=1)) / sqrt(count) if count > 1 else None
            yield Fit(cls.variant, None, job.get("seed", 0), [(metric, values[metric])], {}, half)


def image_values(ids: list[str], by_image: Mapping[str, list[float]]) -> dict[str, Any]:
    """The values of a result, from one number per image and metric."""
    means = {metric: float(np.mean(numbers)) for metric, numbers in by_image.items()}
    return {"images": ids, "by_image": {metric: list(numbers) for metric, numbers in by_image.items()}, **means}
