"""Probing features: planning the jobs, running them, estimating their time."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from unseen.device import default_device, on_gpu
from unseen.features.about import StoreAbout
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.probes.by_name import feature_probes
from unseen.probes.by_name.logistic import Logistic, LogisticJob, usual_products
from unseen.probes.probe import FeatureJob, Size, StudyPart
from unseen.probes.protocol import COG_V2, LogisticProtocol
from unseen.probes.sgd.trainer import Trainer
from unseen.runs.execute import execute
from unseen.runs.executors import choose_executor
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.kept_labels import keep_labels
from unseen.runs.means import Means
from unseen.runs.results import missing
from unseen.runs.work import alike, run_alike

J = TypeVar("J", bound=FeatureJob)
SHOTS = (1, 2, 4, 8, 16, 32, 64, 128, None)
"""The settings of ImageNet-CoG: samples per concept, None for all."""


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

    @property
    def size(self) -> Size:
        return Size(self.rows, self.test_rows, self.classes, (self.dimension,))

    def part(self, study: str, protocol: LogisticProtocol) -> StudyPart:
        """As probes plan their jobs on it."""
        features = (self.backbone, self.domain, self.train, self.test)
        return StudyPart(study, protocol, *features, self.size, on_gpu())


def plan(
    study: str,
    pairs: Sequence[FeaturePair],
    protocol: LogisticProtocol,
    shots: Sequence[int | None],
    seeds: Sequence[int],
) -> list[LogisticJob]:
    """A job for every pair of features, seed and number of shots, those that share features together."""
    return [job for pair in pairs for job in Logistic.jobs(pair.part(study, protocol), seeds, shots)]


def plan_extended(
    study: str,
    pairs: Sequence[FeaturePair],
    *,
    seeds: Sequence[int] = range(5),
    protocol: LogisticProtocol = COG_V2,
    kinds: Collection[str] | None = None,
) -> list[FeatureJob]:
    """The jobs of further probes for every pair of features, as each probe plans them.

    Args:
        kinds: names of probes; by default those of ImageNet-CoG's first version.
    """
    chosen = [probe for name, probe in feature_probes().items() if (probe.extended if kinds is None else name in kinds)]
    return [job for pair in pairs for probe in chosen for job in probe.jobs(pair.part(study, protocol), seeds)]


def possible_shots(shots: Sequence[int | None], samples: int, validation: float) -> tuple[int | None, ...]:
    """The settings that a class of `samples` training samples can fill while hyper-parameters are chosen."""
    left = samples - min(max(int(samples * validation), 1), samples - 1)
    return tuple(number for number in shots if number is None or number <= left)


def run(jobs: Sequence[J], pairs: Sequence[FeaturePair], folder: Path, means: Means) -> Iterator[J]:
    """Run the jobs that have no result in `folder` yet and pass on each as it is done.

    The labels of their test sets are kept beside the folder (`unseen.runs.kept_labels`).
    """
    tests = {pair.test: pair.test_place for pair in pairs}
    places = {pair.train: pair.train_place for pair in pairs} | tests
    keep_labels(folder, {job.test: tests[job.test] for job in jobs}, read_features)
    work = partial(run_alike, places=places, load=read_features)
    yield from execute(
        jobs, folder, work, choose_executor(replace(means, gpu=on_gpu())), grouped=alike, cost=job_cost(pairs)
    )


def job_cost(pairs: Sequence[FeaturePair]) -> Callable[[FeatureJob], float]:
    """A function that counts the multiplications and additions of a job on one of these pairs."""
    table = {(pair.backbone, pair.domain): pair for pair in pairs}
    return lambda job: job.probe.flops(table[job.backbone, job.domain].size, job.setting)


def estimate(jobs: Sequence[FeatureJob], pairs: Sequence[FeaturePair], folder: Path, means: Means) -> float:
    """Seconds that the missing jobs should take on this machine.

    Regressions go by the speed of a short one on the largest features. The others are products of large matrices, and
    go by the speed of such a product: small regressions are far from it.
    """
    table = {(pair.backbone, pair.domain): pair for pair in pairs}
    todo = missing(jobs, folder)
    gpu, seconds = on_gpu(), 0.0
    regressions = list[tuple[float, LogisticProtocol, FeaturePair]]()
    products = list[tuple[float, str]]()
    for job in todo:
        pair, probe = table[job.backbone, job.domain], job.probe
        flops = probe.flops(pair.size, job.setting)
        if probe.regression:
            regressions.append((flops, probe.regression, pair))
        else:
            products.append((flops, probe.multiplies(gpu=gpu)))
    if regressions:
        _, protocol, pair = max(regressions, key=lambda cost: cost[0])
        seconds += sum(flops for flops, *_ in regressions) / _regression_rate(protocol, pair)
    side = 8192 if gpu else 1024  # a product of less does not keep a GPU busy
    rates = {numbers: product_rate((side, side, side), numbers) for numbers in {numbers for _, numbers in products}}
    seconds += sum(flops / rates[numbers] for flops, numbers in products)
    return seconds / (means.places if gpu else means.workers) + 0.1 * len(todo)


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
        trainer = Trainer.load(X, y, pair.classes, short, device=device, dtype=getattr(torch, usual_products(on_gpu())))
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
