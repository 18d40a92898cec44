"""A pool of models for a fit of effective robustness: trained on parts of two data sets, and on mixtures of them.

Shi et al. (2023, appendix B.1) train on 5 to 50% of each of two data sets, and on mixtures, λ of the first with 1 − λ
of the second, cut down likewise, so that accuracies spread over the plane of two ID test sets. Here any function
trains; this module decides on what, counts what the models get right, and keeps the counts. Every model is a few jobs,
one for each fold; a pool that was stopped goes on where it was.
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
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import choose_executor
from unseen.runs.job import job_key
from unseen.runs.means import Means
from unseen.runs.results import read_result

RATIOS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Parts of the training data, as in the paper."""
BOTH = "both"
"""The group of models trained on a mixture."""

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
    """Two training sets, and the test sets, by name, that models trained on them are scored on.

    One fold is the ordinary case. With several, a model is trained anew on each, and what it gets right is added up:
    where images are few, each can then test once.
    """

    training: tuple[Labelled, Labelled]
    tests: Mapping[str, Labelled]


@dataclass(frozen=True)
class Setup:
    """What decides a model, but for the data.

    Attributes:
        network: its architecture, as the function that trains calls it.
        share: λ, the part of the first data set in a mixture; 1 is the first alone, 0 the second.
        ratio: the part of that mixture that is trained on.
        recipe: how it is trained: a frozen dataclass of numbers and texts, with a version of the function that trains.
        seed: of the images drawn, and for the function that trains.
    """

    network: str
    share: float
    ratio: float
    recipe: Any
    seed: int = 0


@dataclass(frozen=True)
class PoolModel:
    """A model under the name and group that the table gives it."""

    name: str
    group: str
    setup: Setup


@dataclass(frozen=True)
class PoolJob:
    """The training of a model on one fold; `data` is the hash of all folds."""

    protocol: str
    data: str
    setup: Setup
    fold: int


Predict = Callable[[Images], Labels]
Train = Callable[[Labelled, PoolJob], Predict]


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
    """Every network on every mixture (see `Setup`) at every ratio.

    Args:
        names: of the two data sets, which are the groups of models trained on one of them.
        both: the group of models trained on a mixture.
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
    """The same models trained in another way, as a group of their own."""
    return [PoolModel(f"{model.name} {group}", group, replace(model.setup, recipe=recipe)) for model in models]


def pool_jobs(models: Sequence[PoolModel], folds: Sequence[Fold]) -> list[PoolJob]:
    """A job for each model and fold, model by model."""
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise UserError("two models of a pool have the same name")
    data = folds_hash(folds)
    return [PoolJob("shi-2023", data, model.setup, fold) for model in models for fold in range(len(folds))]


def run_pool(
    models: Sequence[PoolModel], folds: Sequence[Fold], folder: Path, train: Train, *, workers: int = 1
) -> Iterator[PoolJob]:
    """Train what is missing, one result file a job in `folder`, and pass on each job as it is done.

    Args:
        train: makes a classifier from images and a job's setup; a function at module level. What it does is not part
            of a job: where it changes, results stay unless the recipe says so too.
        workers: processes; every one gets a copy of the data with each job, so that they suit small data.
    """
    work = OneByOne[PoolJob](partial(_train_and_test, folds, train))
    yield from execute(pool_jobs(models, folds), folder, work, choose_executor(Means(workers)))


def mixture_rows(sizes: Sequence[int], setup: Setup, fold: int = 0) -> list[NDArray[np.int64]]:
    """Which images of each set a model is trained on: λ·ratio of the first set and (1 − λ)·ratio of the second.

    Each part is the beginning of an order of its set that depends on seed and fold alone, so a smaller ratio is part
    of a larger one. A part that is wanted has at least one image.

    Args:
        sizes: of the two sets, or of the first alone.
    """
    parts = []
    for place, (size, share) in enumerate(zip(sizes, (setup.share, 1 - setup.share), strict=False)):
        wanted = min(size, max(1, round(share * setup.ratio * size))) if share else 0
        parts.append(np.random.default_rng([setup.seed, fold, place]).permutation(size)[:wanted])
    return parts


def draw_mixture(training: tuple[Labelled, Labelled], setup: Setup, fold: int = 0) -> Labelled:
    """The images that a model is trained on, as `mixture_rows` draws them."""
    rows = mixture_rows([len(found) for found in training], setup, fold)
    parts = [found.rows(own) for found, own in zip(training, rows, strict=True)]
    images = np.concatenate([part.images for part in parts])
    return Labelled(images, np.concatenate([part.labels for part in parts]))


def _train_and_test(folds: Sequence[Fold], train: Train, job: PoolJob) -> dict[str, Any]:
    fold = folds[job.fold]
    drawn = draw_mixture(fold.training, job.setup, job.fold)
    predict = train(drawn, job)
    right = {name: int((predict(test.images) == test.labels).sum()) for name, test in fold.tests.items()}
    return {"right": right, "tested": {name: len(test) for name, test in fold.tests.items()}, "trained": len(drawn)}


def folds_hash(folds: Sequence[Fold]) -> str:
    """SHA-256 over all images and labels, in order, with the names of the test sets."""
    digest = hashlib.sha256()
    for fold in folds:
        sets = {"first": fold.training[0], "second": fold.training[1], **fold.tests}
        for name, found in sets.items():
            for array in (found.images, found.labels):
                digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_pool(models: Sequence[PoolModel], folds: Sequence[Fold], folder: Path, table: Path) -> None:
    """A CSV for `unseen shifts fit`: model, group, network, ratio, lambda, images, an accuracy for each test set.

    `images` is how many a model was trained on, the mean over folds; accuracies are fractions, over all folds.
    """
    jobs = iter(pool_jobs(models, folds))
    rows = [_row(model, list(islice(jobs, len(folds))), folds, folder) for model in models]
    write_table(table, ["model", "group", "network", "ratio", "lambda", "images", *folds[0].tests], iter(rows))


def images_tested(folds: Sequence[Fold]) -> dict[str, int]:
    """Images of each test set, over all folds."""
    return {name: sum(len(fold.tests[name]) for fold in folds) for name in folds[0].tests}


def _row(model: PoolModel, jobs: Sequence[PoolJob], folds: Sequence[Fold], folder: Path) -> list[object]:
    results = [read_result(folder, job_key(job)) for job in jobs]
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
