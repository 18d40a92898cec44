"""Probing features: planning the jobs, running them, estimating their time."""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from unseen.device import default_device, on_gpu
from unseen.features.about import StoreAbout
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.jobs.geometry_job import GeometryJob
from unseen.jobs.kept_labels import keep_labels
from unseen.jobs.kmeans_job import KMeansJob
from unseen.jobs.mlp_job import MlpJob, perceptrons_beside
from unseen.jobs.pca_job import DIMENSIONS, PcaJob
from unseen.jobs.probe_job import LogisticJob
from unseen.jobs.work import Job, alike, flops, run_alike
from unseen.probes.protocol import COG_V2, LogisticProtocol
from unseen.probes.sgd.trainer import Trainer
from unseen.runs.execute import Means, execute
from unseen.runs.executors import choose_executor
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.job import job_key
from unseen.runs.results import missing

SHOTS = (1, 2, 4, 8, 16, 32, 64, 128, None)
"""The settings of ImageNet-CoG: samples per concept, None for all."""
EXTENDED = ("pca", "mlp", "kmeans", "geometry")
"""The further kinds of probes: principal components, perceptrons, clusters, alignment and uniformity."""


@dataclass(frozen=True)
class FeaturePair:
    """Training and test features of a domain under a backbone, by their hashes and where they are.

    `classes`, `samples` (of the class that has the fewest), `rows` (to train on) and `dimension` are for planning;
    `flaws` are images that were left out of them.
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
    test_rows: int = 0
    flaws: tuple[Flaw, ...] = ()


def plan(
    study: str,
    pairs: Sequence[FeaturePair],
    protocol: LogisticProtocol,
    shots: Sequence[int | None],
    seeds: Sequence[int],
) -> list[LogisticJob]:
    """A job for every pair of features, seed and number of shots, those that share features together."""
    products = _products()
    return [
        LogisticJob(study, protocol, pair.backbone, pair.domain, pair.train, pair.test, number, seed, products)
        for pair in pairs
        for seed in seeds
        for number in shots
    ]


def plan_extended(
    study: str,
    pairs: Sequence[FeaturePair],
    *,
    seeds: Sequence[int] = range(5),
    protocol: LogisticProtocol = COG_V2,
    kinds: Collection[str] = EXTENDED,
) -> list[Job]:
    """The further jobs of ImageNet-CoG's first version for every pair of features.

    Regressions on the first principal components (as many as the paper's, where features have more dimensions and there
    are as many samples), a perceptron and its twin without activations, k-means, alignment and uniformity. The first
    three are repeated for every seed; k-means tries three of its own, and the last draws nothing.

    Args:
        kinds: which of `EXTENDED`.
    """
    return [job for pair in pairs for job in _extended(study, pair, seeds, protocol, kinds)]


def _extended(
    study: str, pair: FeaturePair, seeds: Sequence[int], protocol: LogisticProtocol, kinds: Collection[str]
) -> Iterator[Job]:
    name, features = protocol.name, (pair.backbone, pair.domain, pair.train, pair.test)
    arithmetic = "tf32" if on_gpu() else "float32"
    for dimensions in DIMENSIONS if "pca" in kinds else ():
        if dimensions < pair.dimension and dimensions <= pair.rows:
            yield from (PcaJob(study, protocol, *features, dimensions, seed, _products()) for seed in seeds)
    for perceptron in perceptrons_beside(protocol) if "mlp" in kinds else ():
        yield from (MlpJob(study, perceptron, *features, seed, arithmetic) for seed in seeds)
    if "kmeans" in kinds:
        yield KMeansJob(study, name, *features, half=on_gpu())
    if "geometry" in kinds:
        yield GeometryJob(study, name, *features)


def possible_shots(shots: Sequence[int | None], samples: int, validation: float) -> tuple[int | None, ...]:
    """The settings that a class of `samples` training samples can fill while hyper-parameters are chosen."""
    left = samples - min(max(int(samples * validation), 1), samples - 1)
    return tuple(number for number in shots if number is None or number <= left)


def run(jobs: Sequence[Job], pairs: Sequence[FeaturePair], folder: Path, *, workers: int) -> Iterator[Job]:
    """Run the jobs that have no result in `folder` yet and pass on each as it is done.

    The labels of their test sets are kept beside the folder (`unseen.jobs.kept_labels`).
    """
    tests = {pair.test: pair.test_place for pair in pairs}
    places = {pair.train: pair.train_place for pair in pairs} | tests
    keep_labels(folder, {job.test: tests[job.test] for job in jobs}, read_features)
    work = partial(run_alike, places=places, load=read_features)
    yield from execute(jobs, folder, work, choose_executor(Means(workers, gpu=on_gpu())), grouped=alike)


def _products() -> str:
    """The type of the numbers that regressions multiply here."""
    return "float16" if on_gpu() else "float32"


def estimate(jobs: Sequence[Job], pairs: Sequence[FeaturePair], folder: Path, workers: int) -> float:
    """Seconds that the missing jobs should take on this machine.

    Regressions go by the speed of a short one on the largest features. The others are products of large matrices, and
    go by the speed of such a product: small regressions are far from it.
    """
    table = {(pair.backbone, pair.domain): pair for pair in pairs}
    todo = missing(jobs, folder)
    seconds = 0.0
    regressions = [job for job in todo if isinstance(job, LogisticJob | PcaJob)]
    others = [job for job in todo if not isinstance(job, LogisticJob | PcaJob)]
    if regressions:
        costs = [_flops(job, table[job.backbone, job.domain]) for job in regressions]
        biggest = regressions[max(range(len(costs)), key=lambda i: costs[i])]
        seconds += sum(costs) / _regression_rate(biggest.protocol, table[biggest.backbone, biggest.domain])
    side = 8192 if on_gpu() else 1024  # a product of less does not keep a GPU busy
    rates = {numbers: product_rate((side, side, side), numbers) for numbers in {_multiplied(job) for job in others}}
    seconds += sum(_flops(job, table[job.backbone, job.domain]) / rates[_multiplied(job)] for job in others)
    return seconds / (1 if on_gpu() else max(workers, 1)) + 0.1 * len(todo)


def _multiplied(job: Job) -> str:
    """What a job that is no regression multiplies most, in the words of `product_rate`."""
    if isinstance(job, MlpJob):
        return job.arithmetic
    return "float16" if isinstance(job, KMeansJob) and job.half else "float32"


def _flops(job: Job, pair: FeaturePair) -> float:
    return flops(job, pair.rows, pair.dimension, pair.classes)


def _regression_rate(protocol: LogisticProtocol, pair: FeaturePair) -> float:
    """Flops a second in a short regression on such features: of one thread, or of the GPU."""
    import torch

    device = default_device()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        k = min(protocol.round_size, protocol.trials)
        rows = min(pair.rows, 4096 if device.type == "cpu" else 65_536)
        X = torch.randn(rows, pair.dimension, generator=torch.Generator().manual_seed(0))
        short = replace(protocol, epochs=2)
        y = torch.arange(rows) % pair.classes
        trainer = Trainer.load(X, y, pair.classes, short, device=device, dtype=getattr(torch, _products()))
        seconds = 0.0
        for _ in range(2 if device.type == "cuda" else 1):  # the first run on a GPU compiles kernels
            start = time.perf_counter()
            trainer.fit([torch.arange(rows)], [[(1.0, 0.0)] * k], [torch.Generator().manual_seed(0)])[0].cpu()
            seconds = time.perf_counter() - start
    finally:
        torch.set_num_threads(threads)
    return 2 * 4 * rows * (pair.dimension + 1) * pair.classes * k / seconds


def product_rate(shape: tuple[int, int, int], numbers: str = "float32") -> float:
    """Flops a second of a product of (m, k) and (k, n) matrices, the better of two: of one thread, or of the GPU.

    Args:
        shape: m, k and n.
        numbers: what is multiplied: "float32", "float16", or "tf32", the short form of float32 on a GPU.
    """
    import torch

    m, k, n = shape
    device = default_device()
    dtype = torch.float16 if numbers == "float16" else torch.float32
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high" if numbers == "tf32" else "highest")
    try:
        a, b = (torch.ones(sides, device=device, dtype=dtype) for sides in ((m, k), (k, n)))
        rates = []
        for _ in range(2):  # the first time a device sets itself up
            start = time.perf_counter()
            float((a @ b)[0, 0])
            rates.append(2 * m * k * n / (time.perf_counter() - start))
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
    return max(rates)


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
        test_rows=len(test),
        flaws=(*_left_out(backbone, domain, "training", train), *_left_out(backbone, domain, "test", test)),
    )


def _left_out(backbone: str, domain: str, side: str, features: Features) -> Iterator[Flaw]:
    """Damaged images that the extraction of some features left out."""
    damaged = StoreAbout.of(features.provenance).damaged
    if damaged:
        examples = tuple(f"{image.id}: {image.reason}" for image in damaged[:MOST_EXAMPLES])
        total = len(features) + len(damaged)
        yield Flaw("damaged-images", backbone, domain, f"{side} images", len(damaged), total, examples)


def job_keys(jobs: Sequence[Job]) -> list[str]:
    return [job_key(job) for job in jobs]
