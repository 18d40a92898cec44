"""Jobs that probe features: planning, running and time estimates."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from unseen.device import on_gpu
from unseen.features.about import StoreAbout
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.papers.comparability import PLAIN, Draw, ScoredData
from unseen.probes.by_name import feature_probes
from unseen.probes.by_name.logistic import Logistic, LogisticJob
from unseen.probes.probe import FeatureJob, Size, StudyPart
from unseen.probes.protocol import COG_V2, LogisticProtocol, PrunedProtocol
from unseen.probes.samples import ClassCounts, SamplesPerClass
from unseen.runs.execute import execute
from unseen.runs.executors import choose_executor
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.kept_labels import keep_labels
from unseen.runs.means import Means
from unseen.runs.notices import Notice, cuts_text, notice
from unseen.runs.own_metric import OwnMetricJob
from unseen.runs.results import missing
from unseen.runs.shots import refuse_shots, shot_notices
from unseen.runs.work import alike, run_alike
from unseen.studies.rates import elapsed, product_rate, regression_speed, starting

J = TypeVar("J", bound=FeatureJob)
SHOTS = (1, 2, 4, 8, 16, 32, 64, 128, None)
"""The settings of ImageNet-CoG: samples per concept, None for all."""
UNNAMED = "yours"
"""The default name of the user's own features: of their backbone and of their domain."""
OTHER_WORK_ON_GPU = 5.0
"""Seconds of probes without SGD on a GPU per second of their products: comparing, sorting, 64 bits (H200)."""
OVERHEAD = 0.1
"""Overhead of a job in seconds: the search itself, drawing samples, scoring, writing the result."""


@dataclass(frozen=True)
class FeaturePair:
    """Training and test features of a backbone on a domain, by their hashes and paths.

    `classes`, `samples` (for training, per class), `rows` (for training), `dimension` and `counts` (None if not known)
    are used for planning; `flaws` are damaged images that were skipped.
    """

    backbone: str
    domain: str
    train: str
    test: str
    train_place: str
    test_place: str
    classes: int
    samples: SamplesPerClass
    rows: int
    dimension: int
    test_rows: int = 0
    flaws: tuple[Flaw, ...] = ()
    counts: ClassCounts | None = None

    @property
    def size(self) -> Size:
        return Size(self.rows, self.test_rows, self.classes, (self.dimension,))

    @property
    def named_domain(self) -> str:
        """The domain as notices name it: not at all if the user gave it no name."""
        return "" if self.domain == UNNAMED else self.domain

    def scored(self, protocol: str, draw: Draw = "unknown", variant: str = PLAIN) -> ScoredData:
        """The numbers of classes and images behind the scores of a protocol on these features."""
        images = {"train": self.rows, "test": self.test_rows}
        return ScoredData(self.backbone, self.domain, protocol, self.classes, images, draw, variant)

    def part(self, study: str, protocol: LogisticProtocol) -> StudyPart:
        """The form in which probes plan their jobs."""
        features = (self.backbone, self.domain, self.train, self.test)
        return StudyPart(study, protocol, *features, self.size, on_gpu(), self.counts)


def plan(
    study: str,
    pairs: Sequence[FeaturePair],
    protocol: LogisticProtocol,
    shots: Sequence[int | None],
    seeds: Sequence[int],
) -> list[LogisticJob]:
    """One job per pair of features, seed and number of shots, grouped by features.

    Shots that every class of a domain lacks are skipped there (`skipped_shots`); if none are left on any domain, that
    is an error.
    """
    jobs = [
        job
        for pair in pairs
        for job in Logistic.jobs(
            pair.part(study, protocol), seeds, [each for each in shots if pair.samples.total_shortage(each) is None]
        )
    ]
    if shots and pairs and not jobs:
        refuse_shots(shots, [(pair.samples.total_shortage, pair.named_domain) for pair in pairs])
    return jobs


def skipped_shots(shots: Sequence[int | None], pairs: Sequence[FeaturePair]) -> list[Notice]:
    """Notices about shots that every class of a domain lacks, once for all backbones."""
    found = (shot_notices(shots, pair.samples.total_shortage, pair.named_domain) for pair in pairs)
    return [*dict.fromkeys(chain.from_iterable(found))]


def episode_notices(pairs: Sequence[FeaturePair], kinds: Collection[str]) -> list[Notice]:
    """Notices about the own shots of additional probes, for which a domain has too few samples or classes.

    Args:
        kinds: names of probes.
    """
    probes = [probe for name, probe in feature_probes().items() if name in kinds]
    found = (
        shot_notices(probe.default_shots, partial(short, pair.counts), pair.named_domain)
        for pair in pairs
        if pair.counts
        for probe in (each() for each in probes)
        for short in (probe.total_shortage, probe.partial_shortage)
    )
    return [*dict.fromkeys(chain.from_iterable(found))]


def short_shots(shots: Sequence[int | None], pairs: Sequence[FeaturePair], protocol: LogisticProtocol) -> list[Notice]:
    """Notices about shots that some classes of a domain lack, in the final fit or in the search."""
    found = (
        shot_notices(shots, partial(pair.samples.partial_shortage, validation=protocol.validation), pair.named_domain)
        for pair in pairs
    )
    return [*dict.fromkeys(chain.from_iterable(found))]


def plan_extended(
    study: str,
    pairs: Sequence[FeaturePair],
    *,
    seeds: Sequence[int] = range(5),
    protocol: LogisticProtocol = COG_V2,
    kinds: Collection[str] | None = None,
) -> list[FeatureJob]:
    """The jobs of additional probes on every pair of features, as planned by each probe.

    Args:
        kinds: names of probes; by default those of the first version of ImageNet-CoG.
    """
    chosen = [probe for name, probe in feature_probes().items() if (probe.extended if kinds is None else name in kinds)]
    return [job for pair in pairs for probe in chosen for job in probe.jobs(pair.part(study, protocol), seeds)]


def search_notices(protocol: LogisticProtocol, short: str) -> list[Notice]:
    """What a reader must know of a search that is not the paper's; `short` is the code for one with fewer trials."""
    if protocol.name == COG_V2.name:
        return []
    name, trials, epochs = protocol.name, protocol.trials, protocol.epochs
    if isinstance(protocol, PrunedProtocol) and protocol.cuts:
        cuts = cuts_text(*zip(*protocol.cuts, strict=True))
        many, least = protocol.many_steps, protocol.least_steps
        return [notice("pruned-search", protocol=name, trials=trials, epochs=epochs, cuts=cuts, many=many, least=least)]
    if short == "short-search":
        return [notice(short, protocol=name, trials=trials, epochs=epochs, starts=protocol.starts)]
    return [notice(short, protocol=name, trials=trials, epochs=epochs)]


def run(jobs: Sequence[J], pairs: Sequence[FeaturePair], folder: Path, means: Means) -> Iterator[J]:
    """Run the jobs that have no result in `folder`, and yield each when it is done.

    The labels of their test sets are stored beside the folder (`unseen.runs.kept_labels`).
    """
    tests = {pair.test: pair.test_place for pair in pairs}
    places = {pair.train: pair.train_place for pair in pairs} | tests
    keep_labels(folder, {job.test: tests[job.test] for job in jobs}, read_features)
    order = tuple(dict.fromkeys((job.train, job.test) for job in missing(jobs, folder)))
    work = partial(run_alike, places=places, load=read_features, order=order)
    measuring = [replace(job, results=str(folder)) for job in jobs if isinstance(job, OwnMetricJob)]
    fitting = [job for job in jobs if not isinstance(job, OwnMetricJob)]
    for part in (fitting, measuring):  # own metrics need the results of the fits
        yield from execute(
            part, folder, work, choose_executor(replace(means, gpu=on_gpu())), grouped=alike, cost=job_cost(pairs)
        )


def job_cost(pairs: Sequence[FeaturePair]) -> Callable[[FeatureJob], float]:
    """A function that counts the multiplications and additions of a job on one of these pairs."""
    table = {(pair.backbone, pair.domain): pair for pair in pairs}
    return lambda job: job.probe.flops(table[job.backbone, job.domain].size, job.setting)


def estimate(jobs: Sequence[FeatureJob], pairs: Sequence[FeaturePair], folder: Path, means: Means) -> float:
    """Estimated seconds of the missing jobs on this machine.

    For logistic regressions, a short one is timed on the largest features. The other probes consist of large matrix
    products, so such a product is timed; small regressions are much slower than that.
    """
    table = {(pair.backbone, pair.domain): pair for pair in pairs}
    todo, gpu = missing(jobs, folder), on_gpu()
    if not todo:
        return 0.0
    sizes = [table[job.backbone, job.domain].size for job in todo]
    flops = [job.probe.flops(size, job.setting) for job, size in zip(todo, sizes, strict=True)]
    regressions = [number for number, job in enumerate(todo) if job.probe.regression]
    setups = _setups([(todo[number], sizes[number]) for number in regressions])
    largest = max(regressions, key=flops.__getitem__, default=None)
    protocol = todo[largest].probe.regression if largest is not None else None
    speed = regression_speed(protocol, sizes[largest]) if protocol and largest is not None else None
    side = 8192 if gpu else 1024  # smaller products do not keep a GPU busy
    kinds = {job.probe.multiplies(gpu=gpu) for job in todo if not job.probe.regression}
    rates = {numbers: product_rate((side, side, side), numbers) for numbers in kinds}
    # MLPs are trained by SGD with products in TF32 and do little else.
    rates |= {numbers: rate / OTHER_WORK_ON_GPU for numbers, rate in rates.items() if gpu and numbers != "tf32"}
    seconds = [
        work / speed.rate + speed.setup * setups[job]
        if speed and job.probe.regression
        else work / rates[job.probe.multiplies(gpu=gpu)]
        for job, work in zip(todo, flops, strict=True)
    ]
    places = means.places if gpu else means.workers
    return elapsed([each + OVERHEAD for each in seconds], places) + starting(len(todo), places, gpu=gpu)


def _setups(regressions: Sequence[tuple[FeatureJob, Size]]) -> dict[FeatureJob, float]:
    """The number of fits that are set up per job; jobs that are trained together share them."""
    from unseen.probes.sgd.schedule import steps_of_epoch
    from unseen.probes.sgd.search import rounds
    from unseen.probes.sgd.trainer import BUSY

    def steps(job: FeatureJob, size: Size, batch: int) -> tuple[str, str, int]:
        shots = job.setting.shots
        return job.train, job.test, steps_of_epoch(size.rows if shots is None else shots * size.classes, batch)

    protocols = {job: job.probe.regression or COG_V2 for job, _ in regressions}
    alike_jobs = Counter(steps(job, size, protocols[job].batch) for job, size in regressions)
    setups = {}
    for job, size in regressions:
        protocol = protocols[job]
        together = max(BUSY // (protocol.round_size * size.classes * size.dimension), 1)
        shared = min(together, alike_jobs[steps(job, size, protocol.batch)])
        searched = protocol.for_steps(steps(job, size, protocol.batch)[2])
        setups[job] = (len(rounds(searched.trials, searched.round_size)) + len(searched.cuts) + 1) / shared
    return setups


def pair_from_features(
    backbone: str, domain: str, train: Features, test: Features, places: tuple[Path, Path]
) -> FeaturePair:
    """The data for planning of two sets of features that were read from `places`."""
    hashes = [str(part.provenance["content_hash"]) for part in (train, test)]
    return FeaturePair(
        backbone=backbone,
        domain=domain,
        train=hashes[0],
        test=hashes[1],
        train_place=str(places[0]),
        test_place=str(places[1]),
        classes=len(train.classes),
        samples=SamplesPerClass.of_labels(train.y),
        rows=len(train),
        dimension=train.dimension,
        test_rows=len(test),
        flaws=(*_left_out(backbone, domain, "training", train), *_left_out(backbone, domain, "test", test)),
        counts=ClassCounts.of_labels(train.y, test.y, len(train.classes)),
    )


def _left_out(backbone: str, domain: str, side: str, features: Features) -> Iterator[Flaw]:
    """The damaged images that the extraction of features skipped."""
    damaged = StoreAbout.of(features.provenance).damaged
    if damaged:
        examples = tuple(f"{image.id}: {image.reason}" for image in damaged[:MOST_EXAMPLES])
        total = len(features) + len(damaged)
        yield Flaw("damaged-images", backbone, domain, f"{side} images", len(damaged), total, examples)
