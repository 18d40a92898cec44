"""Perceptual distances of reconstructed images to their originals, as jobs that need those of the reconstructions.

They are separate, so that another network needs no new reconstructions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Target
from unseen.probes.job import Fit, Held, Job
from unseen.probes.probe import Input, Probe
from unseen.probes.single_images import image_fits

if TYPE_CHECKING:
    from unseen.metrics.lpips import Trunk

LPIPS = "lpips"
BATCH = 8


@dataclass(frozen=True)
class Perceptual(Probe):
    """Distances by one network; it is not a probe by itself.

    Attributes:
        trunk: metric that the network gives, and `weights` the digest of its weights.
        protocol: name of the protocol of the reconstructions.
    """

    name: ClassVar[str] = LPIPS
    title: ClassVar[str] = "perceptual distances of reconstructions"
    input: ClassVar[Input] = "images"
    targets: ClassVar[tuple[Target, ...]] = ("none",)
    protocol: str
    trunk: str
    weights: str


def perceptual_jobs(jobs: Iterable[Job], trunks: "Mapping[str, Trunk]", sizes: Mapping[str, int]) -> Iterator[Job]:
    """The jobs by reconstruction and network, except for images that are too small for a network.

    Args:
        trunks: networks by metric.
        sizes: sides of the images of backbones.
    """
    from unseen.metrics.lpips import LEAST_SIDE

    for job in jobs:
        for metric, trunk in trunks.items():
            if sizes[job.backbone] >= LEAST_SIDE[trunk.name]:
                probe = Perceptual(job.protocol, metric, trunk.digest)
                yield Job(
                    LPIPS, 1, job.backbone, job.dataset, job.reads, probe.described, seed=job.seed,
                    arithmetic=job.arithmetic, needs=(job,), make=Held(probe),
                )  # fmt: skip


def distance_fits(
    job: Job, trunk: "Trunk", ids: Sequence[str], kept: Callable[[int], Mapping[str, NDArray[Any]]]
) -> Iterator[Fit]:
    """The fits of a job: one distance per image.

    Args:
        ids: ids of the images, in order.
        kept: the stored arrays of an image by its place: itself (`image`), and its `reconstruction`.
    """
    from unseen.metrics.lpips import lpips

    distances = list[float]()
    for start in range(0, len(ids), BATCH):
        arrays = [kept(place) for place in range(start, min(start + BATCH, len(ids)))]
        pairs = (np.stack([each[name] for each in arrays]) for name in ("image", "reconstruction"))
        distances += map(float, lpips(trunk, *pairs))
    yield from image_fits("inversion", ids, {str(job.settings["trunk"]): distances}, job.seed)
