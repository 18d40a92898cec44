"""Jobs that probe feature vectors: planning, running and time estimates, the same in every study."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from unseen.device import on_gpu
from unseen.probes.job import Job
from unseen.probes.probe import Numbers, Size
from unseen.probes.protocol import COG_V2
from unseen.runs.execute import execute
from unseen.runs.executors import choose_executor
from unseen.runs.fit_progress import FitProgress
from unseen.runs.kept_labels import keep_labels
from unseen.runs.means import Means
from unseen.runs.own_metric import with_results
from unseen.runs.results import missing
from unseen.runs.work import VectorWork, but_setting, feature_hashes, kept_folder
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.rates import elapsed, product_rate, regression_speed, starting
from unseen.studies.waves import in_waves, one_after_another

OVERHEAD = 0.1
"""Overhead of a job in seconds: the search itself, drawing samples, scoring, writing the result."""
LARGE = 5e11
"""Linear probes with at least this many multiplications and additions, about a minute on a core, use all cores."""
QUICK = 1e10
"""Multiplications and additions that take about a second."""
UNFINISHED = "unfinished"
"""Name of the folder of checkpoints of unfinished jobs, in the folder of results."""


def run(
    jobs: Sequence[Job],
    features: Sequence[ProbedFeatures],
    folder: Path,
    means: Means,
    tell: Callable[[FitProgress], None] | None = None,
) -> Iterator[Job]:
    """Run the jobs that have no result in `folder`, and yield each when it is done.

    Small jobs use the processes of `means`, and jobs that are too large for one core use all cores; one process uses a
    GPU. Jobs that need others follow them. The labels of test sets are stored beside the folder
    (`unseen.runs.kept_labels`) if results keep what each image contributes.

    Args:
        tell: called with the progress of long jobs every few seconds, also in other processes.
    """
    places = {each.hashes[split]: place for each in features for split, place in each.places.items()}
    tested = [job.reads for job in jobs if "test" in job.reads and job.fitted.split and job.fitted.keeps_units]
    keep_labels(folder, {places[reads["test"]]: reads for reads in tested})
    order = tuple(dict.fromkeys(tuple(feature_hashes(job).values()) for job in missing(jobs, folder)))
    kept, cost = folder / UNFINISHED, job_cost(features)
    work = VectorWork(places, kept, tell, order)
    large = [] if on_gpu() else by_size(jobs, features)[1]
    alone = replace(means, workers=1, threads=means.workers)
    together = replace(means, gpu=on_gpu(), workers=1 if _quick(missing(jobs, folder), cost) else means.workers)
    own = {*large}

    def wave(some: Sequence[Job]) -> Iterator[Job]:
        placed = [with_results(job, folder) if job.needs else job for job in some]
        parts = [
            ([job for job in placed if (job in own) == of_all], where)
            for of_all, where in ((False, together), (True, alone))
        ]
        yield from one_after_another(
            partial(execute, part, folder, work, choose_executor(where), shared=but_setting, cost=cost)
            for part, where in parts
            if part
        )

    yield from _finished(in_waves(jobs, folder, wave), kept)


def _quick(jobs: Sequence[Job], cost: Callable[[Job], float]) -> bool:
    """Whether jobs take less time than new processes do to start: a few products, without searches or iterations."""
    searches = any(job.fitted.regression or job.fitted.divisible for job in jobs)
    return not searches and sum(map(cost, jobs)) < QUICK


def _finished(done: Iterator[Job], kept: Path) -> Iterator[Job]:
    """The jobs as they are done, without their checkpoints."""
    for job in done:
        shutil.rmtree(kept_folder(job, kept), ignore_errors=True)
        yield job


def by_size(jobs: Sequence[Job], features: Sequence[ProbedFeatures]) -> tuple[list[Job], list[Job]]:
    """Small jobs, which run in parallel with one thread each, and linear probes that use all threads."""
    cost = job_cost(features)
    large = {job for job in jobs if job.fitted.divisible and cost(job) > LARGE}
    return [job for job in jobs if job not in large], [job for job in jobs if job in large]


def job_cost(features: Sequence[ProbedFeatures]) -> Callable[[Job], float]:
    """A function that counts the multiplications and additions of a job on some of these features."""
    sizes = _sizes(features)
    return lambda job: job.fitted.flops(sizes(job), job.setting)


def _sizes(features: Sequence[ProbedFeatures]) -> Callable[[Job], Size]:
    """A function that returns the amount of data of a job."""
    table = {(each.backbone, each.dataset): each for each in features}
    return lambda job: table[job.backbone, job.dataset].size(job.fitted)


def estimate(todo: Sequence[Job], features: Sequence[ProbedFeatures], means: Means) -> float:
    """Estimated seconds of jobs without a result on this machine.

    For logistic regressions, a short one is timed on the largest features. The other probes consist of large matrix
    products, so such a product is timed; small regressions are much slower than that.
    """
    if not todo:
        return 0.0
    gpu = on_gpu()
    sizes_of = _sizes(features)
    probes, sizes = [job.fitted for job in todo], [sizes_of(job) for job in todo]
    flops = [probe.flops(size, job.setting) for probe, job, size in zip(probes, todo, sizes, strict=True)]
    regressions = [number for number, probe in enumerate(probes) if probe.regression]
    setups = _setups([(todo[number], sizes[number]) for number in regressions])
    largest = max(regressions, key=flops.__getitem__, default=None)
    protocol = probes[largest].regression if largest is not None else None
    speed = regression_speed(protocol, sizes[largest]) if protocol and largest is not None else None
    seconds = list[float]()
    for probe, job, size, work in zip(probes, todo, sizes, flops, strict=True):
        if speed and probe.regression:
            seconds.append(work / speed.rate + speed.setup * setups[job])
        else:
            rate = _rate(probe.timed_product(size, gpu=gpu), probe.multiplies(gpu=gpu))
            seconds.append(probe.seconds(size, job.setting, rate, gpu=gpu))
    every = [each + OVERHEAD for each in seconds]
    places = means.places if gpu else means.workers
    if gpu:
        return elapsed(every, places) + starting(len(todo), places, gpu=gpu)
    whole = set(by_size(todo, features)[1])
    small = [each for job, each in zip(todo, every, strict=True) if job not in whole]
    large = [each for job, each in zip(todo, every, strict=True) if job in whole]
    return elapsed(small, places) + sum(large) / means.workers + starting(len(small), places, gpu=gpu)


@lru_cache
def _rate(product: tuple[int, int, int], numbers: Numbers) -> float:
    return product_rate(product, numbers)


def _setups(regressions: Sequence[tuple[Job, Size]]) -> dict[Job, float]:
    """The number of fits that are set up per job; jobs that are trained together share them."""
    from unseen.probes.sgd.schedule import steps_of_epoch
    from unseen.probes.sgd.search import rounds
    from unseen.probes.sgd.trainer import BUSY

    def steps(job: Job, size: Size, batch: int) -> tuple[tuple[str, ...], int]:
        shots = job.shots
        return tuple(feature_hashes(job).values()), steps_of_epoch(
            size.rows if shots is None else shots * size.classes, batch
        )

    protocols = {job: job.fitted.regression or COG_V2 for job, _ in regressions}
    alike_jobs = Counter(steps(job, size, protocols[job].batch) for job, size in regressions)
    setups = {}
    for job, size in regressions:
        protocol = protocols[job]
        together = max(BUSY // (protocol.round_size * size.classes * size.dimension), 1)
        shared = min(together, alike_jobs[steps(job, size, protocol.batch)])
        searched = protocol.for_steps(steps(job, size, protocol.batch)[1])
        setups[job] = (len(rounds(searched.trials, searched.round_size)) + len(searched.cuts) + 1) / shared
    return setups
