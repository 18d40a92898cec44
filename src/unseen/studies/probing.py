"""Probing features under the logistic protocol: planning the jobs, running them, estimating their time."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.jobs.job import job_key
from unseen.jobs.probe_job import LogisticJob, run_logistic_job, run_logistic_jobs
from unseen.jobs.runner import missing, run_jobs, run_together
from unseen.probes.protocol import LogisticProtocol
from unseen.probes.trainer import Trainer

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
    products = "float16" if on_gpu() else "float32"
    return [
        LogisticJob(study, protocol, pair.backbone, pair.domain, pair.train, pair.test, number, seed, products)
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
    if not on_gpu():
        work = partial(run_logistic_job, places=places, load=read_features)
        yield from run_jobs(jobs, folder, work, workers=workers)
        return
    # One process drives the GPU, with all jobs on the same features together.
    alike: dict[tuple[str, str, LogisticProtocol], list[LogisticJob]] = {}
    for job in jobs:
        alike.setdefault((job.train, job.test, job.protocol), []).append(job)
    for members in alike.values():
        yield from run_together(members, folder, partial(run_logistic_jobs, places=places, load=read_features))


def on_gpu() -> bool:
    """Whether jobs run on a GPU here."""
    import torch

    return torch.cuda.is_available()


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
    return work / rate / (1 if on_gpu() else max(workers, 1)) + 0.1 * len(todo)


def _measure(job: LogisticJob, pair: FeaturePair) -> float:
    """Flops a second in a short run of a job: of one thread, or of the GPU."""
    import torch

    device = torch.device("cuda" if on_gpu() else "cpu")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        k = min(job.protocol.round_size, job.protocol.trials)
        rows = min(pair.rows, 4096 if device.type == "cpu" else 65_536)
        X = torch.randn(rows, pair.dimension, generator=torch.Generator().manual_seed(0))
        protocol = replace(job.protocol, epochs=2)
        y = torch.arange(rows) % pair.classes
        trainer = Trainer.load(X, y, pair.classes, protocol, device=device, dtype=getattr(torch, job.products))
        seconds = 0.0
        for _ in range(2 if device.type == "cuda" else 1):  # the first run on a GPU compiles kernels
            start = time.perf_counter()
            trainer.fit([torch.arange(rows)], [[(1.0, 0.0)] * k], [torch.Generator().manual_seed(0)])[0].cpu()
            seconds = time.perf_counter() - start
    finally:
        torch.set_num_threads(threads)
    return 2 * 4 * rows * (pair.dimension + 1) * pair.classes * k / seconds


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
