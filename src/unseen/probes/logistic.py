"""The logistic regression of ImageNet-CoG: hyper-parameters searched on a part of the training set, then a final fit.

Sariyildiz et al. 2021, supplementary B.2, with the details of their public code. A ResNet-50 then has 75.8 % on
ImageNet-1K (supplementary Table 5, all samples).
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import torch
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.features.features import Rows
from unseen.metrics.geometry import unit_rows
from unseen.probes.arrays import common_classes
from unseen.probes.protocol import COG_V2, LogisticProtocol
from unseen.probes.protocol import Setting as Setting  # noqa: PLC0414 - what `probe_settings` is asked for
from unseen.probes.sampling import draw_shots, split_validation, stream
from unseen.probes.sgd.pruning import Race
from unseen.probes.sgd.rows import Resident
from unseen.probes.sgd.schedule import DRAWERS
from unseen.probes.sgd.scoring import accuracies, final_hits
from unseen.probes.sgd.search import Search, Trial, best_trial, rounds
from unseen.probes.sgd.trainer import Trainer


@dataclass(frozen=True)
class LogisticResult:
    """Accuracies on the test set, and how the classifier was obtained.

    Attributes:
        rate, decay: the chosen pair, among `trials` in the order tried.
        fewest_samples: smallest number of samples of a class in the final fit; below `shots` if a class has fewer.
        weights, bias: (c, d) and (c,) of the final classifier, on the CPU.
        hits: (n,) whether each test sample is classified correctly, on the CPU.
    """

    top1: float
    top5: float
    rate: float
    decay: float
    trials: tuple[Trial, ...]
    fewest_samples: int
    weights: Tensor
    bias: Tensor
    hits: Tensor


def probe_logistic(
    X_train: Tensor | Rows,
    y_train: Tensor,
    X_test: Tensor | Rows,
    y_test: Tensor,
    *,
    protocol: LogisticProtocol = COG_V2,
    shots: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
    products: torch.dtype | None = None,
) -> LogisticResult:
    """Train and test a linear classifier on frozen features.

    Features are ℓ2-normalised. The training set is split per class; each trial trains on the larger part (with `shots`,
    on that many samples of each class drawn from it) and is scored by top-1 on the whole smaller part after its last
    epoch. If the protocol prunes trials, they are also scored after some epochs, and the worse ones are stopped. The
    best pair trains the final classifier on the whole training set (with `shots`, on that many samples of each class).
    Trials share their initial weights and the order of samples, which depend only on `seed`.

    Args:
        X_train, X_test: (n, d) features of any float dtype; not modified.
        y_train, y_test: (n,) class indices; both must have the same classes.
        products: dtype of the factors in products, float32 or float16 (sums, weights and momentum are always in
            float32); by default 16 bits on a GPU, 32 on a CPU.
    """
    settings = [Setting(shots, seed)]
    results = probe_settings(
        X_train, y_train, X_test, y_test, settings, protocol=protocol, device=device, products=products
    )
    return next(results)[1]


def probe_settings(
    X_train: Tensor | Rows,
    y_train: Tensor,
    X_test: Tensor | Rows,
    y_test: Tensor,
    settings: Sequence[Setting],
    *,
    protocol: LogisticProtocol = COG_V2,
    device: str | torch.device = "cpu",
    products: torch.dtype | None = None,
) -> Iterator[tuple[Setting, LogisticResult]]:
    """The same for several settings, each yielded when it is done, in unspecified order.

    On a GPU, settings with equally many steps are trained together until the GPU is busy. Features that do not fit in
    its memory are streamed.
    """
    place = torch.device(device)
    dtype = products or (torch.float16 if place.type == "cuda" else torch.float32)
    classes = _check(X_train, y_train, X_test, y_test, settings)
    trainer = Trainer.load(X_train, y_train.long(), classes, protocol, device=place, dtype=dtype)
    tests = Resident.load(X_test, unit_rows, device=place, dtype=dtype, name="test")
    drawn = zip(settings, _draw(settings, trainer), strict=True)
    problems = [_problem(setting, draws, trainer) for setting, draws in drawn]
    for group in _groups(problems, trainer):
        searched = protocol.for_steps(trainer.steps(len(group[0].part)))
        for size in rounds(searched.trials, searched.round_size):
            asked = [problem.search.ask(size) for problem in group]
            race = Race(searched.cuts, len(group), size, partial(_validation, trainer, group))
            generators = [stream(problem.setting.seed, 2) for problem in group]
            fits = trainer.fit([problem.part for problem in group], asked, generators, race.stops)
            for number, (problem, weights) in enumerate(zip(group, fits, strict=True)):
                problem.search.tell(*race.finish(number, weights))
        best = [best_trial(problem.search.trials) for problem in group]
        pairs = [[(trial.rate, trial.decay)] for trial in best]
        finals = trainer.fit(
            [problem.whole for problem in group],
            pairs,
            [final_generator(problem.setting.seed) for problem in group],
            mark_diverged=True,
        )
        for problem, trial, weights in zip(group, best, finals, strict=True):
            hits = final_hits(tests, y_test.long(), weights, (1, 5)) if bool(weights.isfinite().all()) else None
            if hits is None:
                raise _diverged(trial.rate)
            top1, top5 = (hits.sum(dim=1).double() / len(y_test)).tolist()
            fewest = int(torch.bincount(trainer.y[problem.whole], minlength=classes).min())
            final = weights[0].cpu()
            yield (
                problem.setting,
                LogisticResult(
                    top1,
                    top5,
                    trial.rate,
                    trial.decay,
                    problem.search.trials,
                    fewest,
                    final[:-1].T.contiguous(),
                    final[-1],
                    hits[0],
                ),
            )


def final_fit(
    X: Tensor | Rows,
    y: Tensor,
    classes: int,
    setting: Setting,
    pair: tuple[float, float],
    *,
    protocol: LogisticProtocol,
    device: torch.device,
    products: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """(c, d) weights and (c,) bias of the final classifier of a setting with known rate and decay, on the CPU.

    A fit that diverges is refused.
    """
    trainer = Trainer.load(X, y, classes, protocol, device=device, dtype=products)
    rows = torch.arange(len(y)) if setting.shots is None else draw_shots(y, setting.shots, stream(setting.seed, 3))
    fitted = trainer.fit([rows], [[pair]], [final_generator(setting.seed)], mark_diverged=True)[0][0].cpu()
    if not bool(fitted.isfinite().all()):
        raise _diverged(pair[0])
    return fitted[:-1].T.contiguous(), fitted[-1]


def _diverged(rate: float) -> UserError:
    return UserError(
        f"the final fit of the logistic regression diverged at the learning rate {rate:g}, which the search chose; use "
        "a protocol with smaller rates, or another seed"
    )


def _validation(trainer: Trainer, group: Sequence["_Problem"], number: int, weights: Tensor) -> Tensor:
    """(k,) top-1 accuracy of k classifiers on the validation part of a problem."""
    held = group[number].held
    return accuracies(trainer.source, held, trainer.y[held], weights)[0]


def final_generator(seed: int) -> Generator:
    """The generator of a seed's final fit, for its initial weights and the order of samples."""
    return stream(seed, 4)


@dataclass(frozen=True)
class _Problem:
    """The draws of a setting: training and validation samples of the trials, and training samples of the final fit."""

    setting: Setting
    part: Tensor
    held: Tensor
    whole: Tensor
    search: Search


def _draw(settings: Sequence[Setting], trainer: Trainer) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For each setting, the training and validation samples of the trials, and the training samples of the final fit.

    Each draw has its own generator, so several are drawn at once: a million samples take tenths of a second.
    """
    y, share = trainer.y, trainer.protocol.validation

    def draw(setting: Setting) -> tuple[Tensor, Tensor, Tensor]:
        part, held = parts[setting.seed]
        if len(held) == 0:
            raise UserError("every class has a single training sample, so none is left to choose hyper-parameters on")
        if setting.shots is None:
            return part, held, torch.arange(len(y))
        few = part[draw_shots(y[part], setting.shots, stream(setting.seed, 1))]
        return few, held, draw_shots(y, setting.shots, stream(setting.seed, 3))

    with ThreadPoolExecutor(DRAWERS) as pool:
        seeds = list(dict.fromkeys(setting.seed for setting in settings))
        split = pool.map(lambda seed: split_validation(y, share, stream(seed, 0)), seeds)
        parts = dict(zip(seeds, split, strict=True))
        return list(pool.map(draw, settings))


def _problem(setting: Setting, draws: tuple[Tensor, Tensor, Tensor], trainer: Trainer) -> _Problem:
    part, held, whole = draws
    protocol = trainer.protocol.for_steps(trainer.steps(len(part)))
    search = Search(
        rates=protocol.rates,
        decays=protocol.decays,
        round_size=protocol.round_size,
        seed=setting.seed,
        starts=protocol.starts,
        random=protocol.trials if protocol.cuts else 10,
    )
    return _Problem(setting, part, held, whole, search)


def _groups(problems: Sequence[_Problem], trainer: Trainer) -> Iterator[list[_Problem]]:
    """Problems to train together: with equally many steps, and not more than keep the device busy."""
    alike: dict[tuple[int, int], list[_Problem]] = {}
    for problem in problems:
        steps = (trainer.steps(len(problem.part)), trainer.steps(len(problem.whole)))
        alike.setdefault(steps, []).append(problem)
    for members in alike.values():
        together = trainer.problems_together()
        for start in range(0, len(members), together):
            yield members[start : start + together]


def _check(
    X_train: Tensor | Rows, y_train: Tensor, X_test: Tensor | Rows, y_test: Tensor, settings: Sequence[Setting]
) -> int:
    """The number of classes, if the arrays match; the features' values are checked as they are read."""
    for name, X, y in (("training", X_train, y_train), ("test", X_test, y_test)):
        if len(X.shape) != 2 or y.ndim != 1 or len(X) != len(y) or len(X) == 0:
            raise UserError(f"{name} features of shape {tuple(X.shape)} do not match labels of shape {tuple(y.shape)}")
    if X_train.shape[1] != X_test.shape[1]:
        raise UserError(f"training features have {X_train.shape[1]} dimensions, test features {X_test.shape[1]}")
    for setting in settings:
        if setting.shots is not None and setting.shots < 1:
            raise UserError(f"shots must be at least 1, not {setting.shots}")
    return common_classes(y_train, y_test)
