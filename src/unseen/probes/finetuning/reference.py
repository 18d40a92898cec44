"""Fine-tuning with one setting, as a reference for frozen features: images are decoded while the network trains.

ImageNet-CoG, supplementary C.2 and Fig. 6: if accuracy on frozen features falls from level to level because concepts
are farther from the seen ones, and not because levels differ in difficulty, it must fall relative to fine-tuning too.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import Manifest
from unseen.data.core.source import ImageSource
from unseen.errors import UserError
from unseen.features.forward import normalised
from unseen.metrics.accuracy import top_k_accuracy, top_k_hits
from unseen.probes.finetuning.images import TESTED
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.streamed import StreamedImages
from unseen.probes.finetuning.train import finetune, predict, with_head
from unseen.probes.image_cell import ImageCell
from unseen.probes.job import Fit, Job
from unseen.probes.units import ScoredImages, hit_units

EVERY = 500
"""Steps between checkpoints."""


def reference_fit(cell: ImageCell, job: Job, protocol: FinetuneProtocol) -> Fit:
    """The network trained on training images and scored on test images."""
    backbone, images = cell.network(), _Images.of(*cell.opened.joined, cell.workers)
    model = with_head(backbone.module, backbone.spec.dimension, len(images.classes), seed=job.seed)
    transform, checkpoint = backbone.spec.transform, cell.checkpoint(job)
    done = finetune(
        model,
        lambda start: images.training(start, transform, protocol, job.seed, cell.device),
        protocol,
        device=cell.device,
        seed=job.seed,
        every=EVERY,
        checkpoint=checkpoint,
        identity=job.key,
        watch=cell.steps(job, "", protocol.steps),
    )
    scores = predict(model, images.testing(transform, cell.device), device=cell.device) if done.finished else None
    if scores is None or not bool(scores.isfinite().all()):
        checkpoint.unlink(missing_ok=True)  # training from it would diverge again
        raise UserError(
            f"{job.backbone} on {job.dataset}: fine-tuning diverged at rate {protocol.rate:g}; use a smaller rate"
        )
    y = torch.from_numpy(images.test_y)
    values = [(f"top{k}", float(top_k_accuracy(scores, y, k))) for k in (1, 5)]
    details = {"losses": list(done.losses), "skipped": done.skipped}
    return Fit(job.probe, None, job.seed, values, details, units=hit_units(top_k_hits(scores, y, 1), images.tested))


@dataclass(frozen=True, eq=False)
class _Images:
    """The images of a manifest by split: their positions in the source, and their class indices."""

    images: StreamedImages
    classes: tuple[str, ...]
    train: NDArray[np.int64]
    train_y: NDArray[np.int64]
    test: NDArray[np.int64]
    test_y: NDArray[np.int64]

    @classmethod
    def of(cls, source: ImageSource, manifest: Manifest, workers: int) -> "_Images":
        numbers = [np.array(manifest.numbers(source, split), dtype=np.int64) for split in ("train", "test")]
        labels = [[source.entries[number].label for number in part.tolist()] for part in numbers]
        classes = tuple(sorted(set(labels[0])))
        if len(classes) < 2 or set(labels[1]) != set(classes):
            raise UserError("fine-tuning needs at least two classes, each with images to train and to test on")
        y = [np.searchsorted(classes, part).astype(np.int64) for part in labels]
        return cls(StreamedImages(source, workers), classes, numbers[0], y[0], numbers[1], y[1])

    @property
    def tested(self) -> ScoredImages:
        """The test images in order."""
        names = [self.images.source.entries[number].id for number in self.test.tolist()]
        return ScoredImages.labelled(self.classes, self.test_y, names)

    def training(
        self, start: int, transform: Transform, protocol: FinetuneProtocol, seed: int, device: torch.device
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Normalized images and labels of every step from `start` on; each epoch has its own order."""
        y = np.zeros(len(self.images.source.entries), dtype=np.int64)
        y[self.train] = self.train_y
        return self.images.training(
            self.train, lambda rows: torch.from_numpy(y[rows]), start, transform, protocol, seed, device
        )

    def testing(self, transform: Transform, device: torch.device) -> Iterator[Tensor]:
        """Normalized test images in order."""
        with closing(self.images.pixels(self.test, transform, TESTED, device)) as blocks:
            for pixels, _ in blocks:
                yield normalised(pixels, transform)
