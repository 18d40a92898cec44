"""A pool of models for a fit of effective robustness: trained on parts of two data sets, and on mixtures of them.

Shi et al. (2023, appendix B.1) train on 5 to 50% of each of two data sets, and on parts of mixtures, λ of the first
with 1 − λ of the second, so that accuracies spread over the plane of two ID test sets. The training function is
arbitrary; this module chooses the training images, counts correct predictions, and stores the counts. Every model has
one job per fold, and an interrupted pool resumes.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import write_table
from unseen.probes.job import Job
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import choose_executor
from unseen.runs.means import Means
from unseen.runs.results import read_result
from unseen.studies.shifts.training import training_job

RATIOS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Shares of the training data, as in the paper."""
BOTH = "both"
"""The group of models that are trained on a mixture."""

Images = NDArray[Any]
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Images, (n, …) of any shape, and their classes, (n,)."""

    images: Images
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, rows: NDArray[np.int64]) -> "Labelled":
        return Labelled(self.images[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class Fold:
    """Two training sets, and the test sets, by name, for models that are trained on them.

    Usually there is one fold. With several, a model is trained on each of them, and correct predictions are summed:
    with few images, each image can then be used for testing once.
    """

    training: tuple[Labelled, Labelled]
    tests: Mapping[str, Labelled]


@dataclass(frozen=True)
class Setup:
    """Everything that determines a model, except for the data.

    Attributes:
        network: name of the architecture, for the training function.
        share: λ, the share of the first data set in a mixture; 1 is only the first, 0 only the second.
        ratio: the share of that mixture that is used for training.
        recipe: how it is trained: a frozen dataclass of numbers and strings, including a version of the training
            function.
        seed: seed of the draw of images, and of the training function.
    """

    network: str
    share: float
    ratio: float
    recipe: Any
    seed: int = 0


@dataclass(frozen=True)
class PoolModel:
    """A model with its name and group in the table."""

    name: str
    group: str
    setup: Setup


@dataclass(frozen=True)
class FoldTraining:
    """The training of a model on one fold; `data` is the hash of all folds."""

    protocol: str
    data: str
    setup: Setup
    fold: int


Predict = Callable[[Images], Labels]
Train = Callable[[Labelled, FoldTraining], Predict]


def plan_pool(
    names: tuple[str, str],
    networks: Sequence[str],
    shares: Sequence[float],
    recipe: Any,
    *,
    ratios: Sequence[float] = (*RATIOS, 1.0),
    seed: int = 0,
    both: str = BOTH,
) -> list[PoolModel]:
    """All combinations of network, mixture (see `Setup`) and ratio.

    Args:
        names: names of the two data sets, which are the groups of models that are trained on only one of them.
        both: the group of models that are trained on a mixture.
    """
    for number in (*shares, *ratios):
        if not 0 <= number <= 1:
            raise UserError(f"shares and ratios are from 0 to 1, and {number:g} is not")
    if 0 in ratios:
        raise UserError("a ratio of 0 leaves nothing to train on")
    groups = {1.0: names[0], 0.0: names[1]}
    return [
        PoolModel(
            f"{network} λ={share:g} {ratio:.0%}", groups.get(share, both), Setup(network, share, ratio, recipe, seed)
        )
        for network in networks
        for share in shares
        for ratio in ratios
    ]


def with_recipe(models: Sequence[PoolModel], recipe: Any, group: str) -> list[PoolModel]:
    """The same models with another recipe, as a separate group."""
    return [PoolModel(f"{model.name} {group}", group, replace(model.setup, recipe=recipe)) for model in models]


def pool_jobs(models: Sequence[PoolModel], folds: Sequence[Fold]) -> list[Job]:
    """One job per model and fold, in the order of models."""
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise UserError("two models of a pool have the same name")
    data = folds_hash(folds)
    trainings = (FoldTraining("shi-2023", data, model.setup, fold) for model in models for fold in range(len(folds)))
    return [training_job("fold-training", each, each.setup.network, "folds") for each in trainings]


def run_pool(
    models: Sequence[PoolModel], folds: Sequence[Fold], folder: Path, train: Train, *, workers: int = 1
) -> Iterator[Job]:
    """Run the missing jobs, with one result file per job in `folder`, and yield each job when it is done.

    Args:
        train: makes a classifier from images and the setup of a job; a function at module level. Its code is not part
            of a job: if it changes, results are kept unless the recipe changes too.
        workers: number of processes; each gets a copy of the data with every job, so they are meant for small data.
    """
    work = OneByOne(partial(_train_and_test, folds, train))
    yield from execute(pool_jobs(models, folds), folder, work, choose_executor(Means(workers)))


def mixture_rows(sizes: Sequence[int], setup: Setup, fold: int = 0) -> list[NDArray[np.int64]]:
    """The training images of a model in each set: λ·ratio of the first set and (1 − λ)·ratio of the second.

    Each part is the beginning of a permutation of its set that depends only on seed and fold, so a smaller ratio is a
    subset of a larger one. A part with a positive share has at least one image.

    Args:
        sizes: sizes of the two sets, or of the first alone.
    """
    parts = []
    for place, (size, share) in enumerate(zip(sizes, (setup.share, 1 - setup.share), strict=False)):
        wanted = min(size, max(1, round(share * setup.ratio * size))) if share else 0
        parts.append(np.random.default_rng([setup.seed, fold, place]).permutation(size)[:wanted])
    return parts


def draw_mixture(training: tuple[Labelled, Labelled], setup: Setup, fold: int = 0) -> Labelled:
    """The training images of a model, as drawn by `mixture_rows`."""
    rows = mixture_rows([len(found) for found in training], setup, fold)
    parts = [found.rows(own) for found, own in zip(training, rows, strict=True)]
    images = np.concatenate([part.images for part in parts])
    return Labelled(images, np.concatenate([part.labels for part in parts]))


def _train_and_test(folds: Sequence[Fold], train: Train, job: Job) -> dict[str, Any]:
    training: FoldTraining = job.made
    fold = folds[training.fold]
    drawn = draw_mixture(fold.training, training.setup, training.fold)
    predict = train(drawn, training)
    right = {name: int((predict(test.images) == test.labels).sum()) for name, test in fold.tests.items()}
    return {"right": right, "tested": {name: len(test) for name, test in fold.tests.items()}, "trained": len(drawn)}


def folds_hash(folds: Sequence[Fold]) -> str:
    """SHA-256 of all images and labels, in order, with the names of the test sets."""
    digest = hashlib.sha256()
    for fold in folds:
        sets = {"first": fold.training[0], "second": fold.training[1], **fold.tests}
        for name, found in sets.items():
            for array in (found.images, found.labels):
                digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_pool(models: Sequence[PoolModel], folds: Sequence[Fold], folder: Path, table: Path) -> None:
    """Write a CSV for `unseen shifts fit`: model, group, network, ratio, lambda, images, one accuracy per test set.

    `images` is the number of training images, averaged over folds; accuracies are fractions over all folds.
    """
    jobs = iter(pool_jobs(models, folds))
    rows = [_row(model, list(islice(jobs, len(folds))), folds, folder) for model in models]
    write_table(table, ["model", "group", "network", "ratio", "lambda", "images", *folds[0].tests], iter(rows))


def images_tested(folds: Sequence[Fold]) -> dict[str, int]:
    """Number of images of each test set, over all folds."""
    return {name: sum(len(fold.tests[name]) for fold in folds) for name in folds[0].tests}


def _row(model: PoolModel, jobs: Sequence[Job], folds: Sequence[Fold], folder: Path) -> list[object]:
    results = [read_result(folder, job.key) for job in jobs]
    values = [result.values for result in results if result]
    if len(values) < len(folds):
        raise UserError(f"{folder}: {model.name} has {len(values)} of {len(folds)} results; run the pool to its end")
    setup = model.setup
    accuracies = (
        sum(value["right"][name] for value in values) / sum(value["tested"][name] for value in values)
        for name in folds[0].tests
    )
    images = round(sum(value["trained"] for value in values) / len(values))
    facts = [model.name, model.group, setup.network, f"{setup.ratio:g}", f"{setup.share:g}", images]
    return [*facts, *(f"{accuracy:.5f}" for accuracy in accuracies)]
