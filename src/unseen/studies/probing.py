"""Probing features under the logistic protocol: planning the jobs, running them, estimating their time."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.jobs.job import job_key
from unseen.jobs.probe_job import LogisticJob, run_logistic_job
from unseen.jobs.runner import missing, run_jobs
from unseen.probes.logistic import LogisticProtocol
from unseen.probes.stacked_sgd import initial_weights, train_stacked

SHOTS = (1, 2, 4, 8, 16, 32, 64, 128, None)
"""The settings of ImageNet-CoG: samples per concept, None for all."""


@dataclass(frozen=True)
class FeaturePair:
    """Training and test features of a domain under a backbone, by their hashes and where they are.

    `classes`, `samples` (of the class that has the fewest), `rows` and `dimension` are for planning.
    """

    backbone: str
    domain: str
    train: str
    test: str
    train_place: str
    test_place: str
    classes: int
    samples: int
    rows: int
    dimension: int


def plan(
    study: str,
    pairs: Sequence[FeaturePair],
    protocol: LogisticProtocol,
    shots: Sequence[int | None],
    seeds: Sequence[int],
) -> list[LogisticJob]:
    """A job for every pair of features, seed and number of shots, those that share features together."""
    return [
        LogisticJob(study, protocol, pair.backbone, pair.domain, pair.train, pair.test, number, seed)
        for pair in pairs
        for seed in seeds
        for number in shots
    ]


def possible_shots(shots: Sequence[int | None], samples: int, validation: float) -> tuple[int | None, ...]:
    """The settings that a class of `samples` training samples can fill while hyper-parameters are chosen."""
    left = samples - min(max(int(samples * validation), 1), samples - 1)
    return tuple(number for number in shots if number is None or number <= left)


def run(
    jobs: Sequence[LogisticJob], pairs: Sequence[FeaturePair], folder: Path, *, workers: int
) -> Iterator[LogisticJob]:
    """Run the jobs that have no result in `folder` yet and pass on each as it is done."""
    places = {pair.train: pair.train_place for pair in pairs} | {pair.test: pair.test_place for pair in pairs}
    work = partial(run_logistic_job, places=places, load=read_features)
    yield from run_jobs(jobs, folder, work, workers=workers)


def flops(job: LogisticJob, pair: FeaturePair) -> float:
    """Multiplications and additions of a job's products: trials on the larger part, then the final fit."""
    whole = pair.rows if job.shots is None else min(job.shots * pair.classes, pair.rows)
    part = whole * (1 - job.protocol.validation) if job.shots is None else whole
    return 4 * (pair.dimension + 1) * pair.classes * job.protocol.epochs * (part * job.protocol.trials + whole)


def estimate(jobs: Sequence[LogisticJob], pairs: Sequence[FeaturePair], folder: Path, workers: int) -> float:
    """Seconds that the missing jobs should take, from the speed of a short run of the same kind on this machine."""
    table = {(pair.backbone, pair.domain): pair for pair in pairs}
    todo = missing(jobs, folder)
    if not todo:
        return 0.0
    biggest = max(todo, key=lambda job: flops(job, table[job.backbone, job.domain]))
    rate = _measure(biggest, table[biggest.backbone, biggest.domain])
    work = sum(flops(job, table[job.backbone, job.domain]) for job in todo)
    return work / rate / max(workers, 1) + 0.1 * len(todo)


def _measure(job: LogisticJob, pair: FeaturePair) -> float:
    """Flops a second of one thread, in one epoch of a job."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        k = min(job.protocol.round_size, job.protocol.trials)
        generator = torch.Generator().manual_seed(0)
        samples = torch.randn(min(pair.rows, 4096), pair.dimension + 1, generator=generator)
        labels = torch.arange(len(samples)) % pair.classes
        start = time.perf_counter()
        train_stacked(
            samples,
            labels,
            initial_weights(pair.dimension, pair.classes, generator),
            torch.ones(k),
            torch.zeros(k),
            epochs=2,
            batch=job.protocol.batch,
            momentum=job.protocol.momentum,
            generator=generator,
        )
        seconds = time.perf_counter() - start
    finally:
        torch.set_num_threads(threads)
    return 2 * 4 * len(samples) * samples.shape[1] * pair.classes * k / seconds


def pair_from_features(
    backbone: str, domain: str, train: Features, test: Features, places: tuple[Path, Path]
) -> FeaturePair:
    """What planning needs to know of two sets of features that were read from `places`."""
    import numpy as np

    fewest = int(np.bincount(train.y, minlength=len(train.classes)).min())
    hashes = [str(part.provenance["content_hash"]) for part in (train, test)]
    return FeaturePair(
        backbone=backbone,
        domain=domain,
        train=hashes[0],
        test=hashes[1],
        train_place=str(places[0]),
        test_place=str(places[1]),
        classes=len(train.classes),
        samples=fewest,
        rows=len(train),
        dimension=train.dimension,
    )


def job_keys(jobs: Sequence[LogisticJob]) -> list[str]:
    return [job_key(job) for job in jobs]
