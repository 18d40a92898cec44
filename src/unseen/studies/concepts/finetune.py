"""Fine-tuning of a whole backbone on a domain, as a reference for frozen features.

ImageNet-CoG, supplementary C.2 and Fig. 6: if accuracy on frozen features falls from level to level because concepts
are farther from the seen ones, and not because levels differ in difficulty, it must fall relative to fine-tuning too.
The paper does not say how it fine-tuned; `reference_protocol` is our choice, and all its settings are in the job.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unseen.backbones.backbone import Backbone
from unseen.device import default_device, on_gpu
from unseen.errors import UserError
from unseen.features.fingerprint import names_and_pixels
from unseen.images.manifest import Manifest
from unseen.images.source import ImageSource
from unseen.images.transform import Transform
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.finetuning.images import TESTED
from unseen.probes.finetuning.jobs import protocol_of_training, reference_job
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.streamed import StreamedImages
from unseen.probes.job import Fit, Job, digest_of, fits_kept
from unseen.runs.executors.here import run_here
from unseen.runs.results import Result, read_result
from unseen.runs.score import Score
from unseen.runs.tables import score_table, summarise
from unseen.studies.concepts.features import SIDES

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def reference_protocol(images: int, *, epochs: int = 30, batch: int = 256, rate: float = 0.01) -> FinetuneProtocol:
    """SGD with Nesterov momentum and a cosine schedule over some epochs of a domain's training images."""
    if images < 1 or epochs < 1:
        raise UserError(f"fine-tuning needs images and at least one epoch, not {images} and {epochs}")
    return FinetuneProtocol("cog-v2-finetune", ceil(images * epochs / batch), batch, rate, decay=1e-4)


def plan_reference(backbone: Backbone, domain: str, images: str, protocol: FinetuneProtocol, *, seed: int = 0) -> Job:
    """The job that fine-tunes a backbone on the "train" images of a manifest and scores it on the "test" images.

    Args:
        images: `names_and_pixels` of these images.
    """
    arithmetic = "float16" if on_gpu() else "float32"
    return reference_job(backbone.label, backbone.spec, domain, images, protocol, arithmetic, seed)


def run_reference(
    job: Job,
    backbone: Backbone,
    source: ImageSource,
    manifest: Manifest,
    folder: Path,
    *,
    workers: int = 0,
    every: int = 500,
    watch: Callable[[int], None] = lambda _: None,
) -> Result:
    """The result of the job: read from `folder`, or else computed, starting from its last checkpoint.

    Args:
        backbone: the backbone that the job was planned with; its module is changed in place.
        folder: folder of results; the checkpoint, twice the size of the network, is beside it until the job is done.
        workers: processes that decode images.
    """
    there = {"spec": digest_of(backbone.spec), "images": names_and_pixels(source, manifest, SIDES)}
    if there != job.reads:
        raise UserError(f"{job.backbone} on {job.dataset}: changed since this fine-tuning was planned; run it again")
    checkpoint = folder.parent / "checkpoints" / f"{job.key}.pt"

    def work(_: Job) -> dict[str, Any]:
        return _fine_tuned(job, backbone, _Images.of(source, manifest, workers), checkpoint, every, watch)

    for _ in run_here([job], folder, work):
        checkpoint.unlink(missing_ok=True)
    result = read_result(folder, job.key)
    if result is None:
        raise UserError(
            f"{folder}: the result of {job.backbone} on {job.dataset} was removed while it was written; run it again"
        )
    return result


def relative_to_finetuned(scores: Iterable[Score], finetuned: Iterable[Score]) -> pd.DataFrame:
    """Top-1 accuracy of the logistic regression minus that of fine-tuning, means over seeds.

    Columns: backbone, domain, shots, mean, finetuned, relative. Backbones and domains that were not fine-tuned are
    omitted.
    """
    probes, references = (summarise(score_table(part)) for part in (scores, finetuned))
    chosen = probes[(probes["metric"] == "top1") & (probes["probe"] == "logistic")]
    found = references[references["metric"] == "top1"].rename(columns={"mean": "finetuned"})
    table = chosen.merge(found[["backbone", "domain", "finetuned"]], on=["backbone", "domain"])
    table["relative"] = table["mean"] - table["finetuned"]
    return table[["backbone", "domain", "shots", "mean", "finetuned", "relative"]]


def _fine_tuned(
    job: Job, backbone: Backbone, images: "_Images", checkpoint: Path, every: int, watch: Callable[[int], None]
) -> dict[str, Any]:
    import torch

    from unseen.metrics.accuracy import top_k_accuracy
    from unseen.probes.finetuning.train import finetune, predict, with_head

    device, protocol = default_device(), protocol_of_training(job)
    model = with_head(backbone.module, backbone.spec.dimension, len(images.classes), seed=job.seed)
    transform = backbone.spec.transform
    done = finetune(
        model,
        lambda start: images.training(start, transform, protocol, job.seed, device),
        protocol,
        device=device,
        seed=job.seed,
        every=every,
        checkpoint=checkpoint,
        identity=job.key,
        watch=watch,
    )
    scores = predict(model, images.testing(transform, device), device=device) if done.finished else None
    if scores is None or not bool(scores.isfinite().all()):
        checkpoint.unlink(missing_ok=True)  # training from it would diverge again
        raise UserError(
            f"{job.backbone} on {job.dataset}: fine-tuning diverged at rate {protocol.rate:g}; use a smaller --rate"
        )
    y = torch.from_numpy(images.test_y)
    values = [(f"top{k}", float(top_k_accuracy(scores, y, k))) for k in (1, 5)]
    details = {"losses": list(done.losses), "skipped": done.skipped}
    return fits_kept([Fit(FineTuned.name, None, job.seed, values, details)]) | {"device": device.type}


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
        numbers = [np.array(manifest.numbers(source, split), dtype=np.int64) for split in SIDES]
        labels = [[source.entries[number].label for number in part.tolist()] for part in numbers]
        classes = tuple(sorted(set(labels[0])))
        if len(classes) < 2 or set(labels[1]) != set(classes):
            raise UserError("fine-tuning needs at least two classes, each with images to train and to test on")
        y = [np.searchsorted(classes, part).astype(np.int64) for part in labels]
        return cls(StreamedImages(source, workers), classes, numbers[0], y[0], numbers[1], y[1])

    def training(
        self, start: int, transform: Transform, protocol: FinetuneProtocol, seed: int, device: "torch.device"
    ) -> "Iterator[tuple[Tensor, Tensor]]":
        """Normalized images and labels of every step from `start` on; each epoch has its own order."""
        import torch

        y = np.zeros(len(self.images.source.entries), dtype=np.int64)
        y[self.train] = self.train_y
        return self.images.training(
            self.train, lambda rows: torch.from_numpy(y[rows]), start, transform, protocol, seed, device
        )

    def testing(self, transform: Transform, device: "torch.device") -> "Iterator[Tensor]":
        """Normalized test images in order."""
        from unseen.features.forward import normalised

        with closing(self.images.pixels(self.test, transform, TESTED, device)) as blocks:
            for pixels, _ in blocks:
                yield normalised(pixels, transform)
