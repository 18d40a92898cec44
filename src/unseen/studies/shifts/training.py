"""The training of one network for the shift study, which resumes from a checkpoint."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.device import default_device
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.streamed import StreamedImages
from unseen.probes.finetuning.timing import measured_step
from unseen.probes.job import Held, Job, plain_json
from unseen.runs.results import RESULTS, read_result
from unseen.studies.shifts.keys import EVERY
from unseen.studies.shifts.pool_networks import PoolNetwork

TRAINING = "training"
"""Name of the folder of checkpoints of running trainings."""


def training_job(name: str, training: Any, backbone: str, dataset: str, revision: int = 1) -> Job:
    """The job of a training that makes a model, which `Job.made` returns.

    Args:
        training: a frozen dataclass with everything that determines the weights.
    """
    return Job(name, revision, backbone, dataset, settings=plain_json(training), make=Held(training))


def train_network(
    network: PoolNetwork,
    images: StreamedImages,
    rows: NDArray[np.int64],
    protocol: FinetuneProtocol,
    place: Path,
    checkpoint: Path,
    *,
    identity: str,
    seed: int,
    every: int = EVERY,
    watch: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Train a network, write it unless its loss diverged, and return the values of its result.

    Args:
        rows: numbers of the training images.
        place: path of the trained network.
        checkpoint: not removed here, so that a kill before the result is written loses nothing (`remove_checkpoints`).
        identity: key of everything that determines the training; see `finetune`.
    """
    from unseen.probes.finetuning.train import finetune

    device = default_device()
    done = finetune(
        network.module,
        lambda start: images.training(rows, network.targets, start, network.transform, protocol, seed, device),
        protocol,
        objective=network.objective,
        device=device,
        seed=seed,
        every=min(every, protocol.steps),
        checkpoint=checkpoint,
        identity=identity,
        watch=watch,
    )
    if done.finished:
        network.write(place)
    return {"images": len(rows), "finished": done.finished, "losses": list(done.losses), "skipped": done.skipped}


def skipped_sentence(name: str, values: Mapping[str, Any], steps: int) -> list[str]:
    """A sentence if losses of a training were not finite, given the values of its result."""
    skipped = values["skipped"]
    return [f"{name}: {skipped:,} of {steps:,} training steps had a loss that was not finite"] if skipped else []


def image_seconds(network: PoolNetwork, batch: int, images: int) -> float:
    """Seconds of a training step per image, without decoding; the network is changed.

    Args:
        images: total number of images.
    """
    rows = np.arange(batch, dtype=np.int64) % images
    seconds = measured_step(
        network.module,
        network.transform.size,
        lambda count: network.targets(rows[:count]),
        network.objective,
        batch,
        default_device(),
    )
    return seconds / batch


def remove_checkpoints(out: Path, jobs: Iterable[Job]) -> None:
    """Remove the checkpoints of trainings that have a result."""
    for key in (job.key for job in jobs):
        if read_result(out / RESULTS, key):
            checkpoint_of(out, key).unlink(missing_ok=True)


def checkpoint_of(out: Path, key: str) -> Path:
    """The path of the checkpoint of a training."""
    return out / TRAINING / f"{key}.pt"
