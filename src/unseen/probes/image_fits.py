"""The jobs and fits of probes that examine a backbone image by image: saliency and inversion."""

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from unseen.metrics.correlation import NORMAL_975
from unseen.probes.job import Fit, Held, Job, digest_of
from unseen.probes.probe import Probe

if TYPE_CHECKING:
    from unseen.backbones.backbone import Spec


def image_job(
    probe: Probe, backbone: str, spec: "Spec", dataset: str, pictures: str, precision: str, seed: int = 0
) -> Job:
    """The job on a set of images.

    Args:
        spec: the backbone as it was loaded; changes of the preprocessing are in the protocol.
        pictures: SHA-256 of the ids and the contents of all images, and of whether they are turned.
        precision: as in `unseen.features.settings.Settings`.
    """
    reads = {"spec": digest_of(spec), "images": pictures}
    return Job(
        probe.name, probe.revision, backbone, dataset, reads, probe.described, None, seed, arithmetic=precision,
        make=Held(probe),
    )  # fmt: skip


def image_fits(
    variant: str, ids: Sequence[str], by_image: Mapping[str, Sequence[float]], seed: int = 0
) -> Iterator[Fit]:
    """One fit for each metric: the mean over images with its normal-distribution interval.

    Args:
        ids: ids of the images, in order.
        by_image: metric → one number per image.
    """
    for metric, numbers in by_image.items():
        if not numbers or len(numbers) != len(ids):
            raise ValueError("one number for each image is expected")
        half = NORMAL_975 * float(np.std(numbers, ddof=1)) / sqrt(len(ids)) if len(ids) > 1 else None
        details = {"images": list(ids), "by_image": list(numbers)}
        yield Fit(variant, None, seed, [(metric, float(np.mean(numbers)))], details, half)
