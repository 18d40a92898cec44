"""The linear probe of the task study on real features, compared with a loop over scikit-learn.

    .venv/bin/python benchmarks/task_probes.py --features run/features/cifar10 run/features/fashion-mnist --peer
    .venv/bin/python benchmarks/task_probes.py --features run/features/digits --all --peer
    .venv/bin/python benchmarks/task_probes.py --features run/features/cifar10 --device cuda

A folder has features of training, validation and test images: that of a data set in a run of `unseen tasks`, or one
with train.npz, val.npz and test.npz. The number of iterations of a fit depends on the features, so use real ones:
features of random layers take a sixth of the iterations.

The probe is everything that `unseen tasks` does with the features of a data set: the choice among 45 penalties on
validation data, the refit, the score and the calibration; `--all` repeats it with every fit solved to its optimum.
The peer is what the public code of the paper does: scikit-learn's LogisticRegression for each of the penalties, from
the weakest on, each fit started from the previous one and stopped at 100 iterations, then the refit. Seconds are CPU
seconds of all processes, because machines are shared; on a GPU they are wall-clock seconds.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from machine import describe, synchronise
from unseen.features.readers import read_features
from unseen.probes.many_shot import ERICSSON_2021, Labels, ManyShot, many_shot
from unseen.probes.newton.search import Converge

SPLITS = ("train", "val", "test")
Part = tuple[NDArray[np.float32], NDArray[np.int64]]


def read(folder: Path, most: int | None) -> list[Part]:
    """Training, validation and test features in random order; of many, the first `most`, and a share of the others."""
    parts: list[Part] = []
    for split in SPLITS:
        found = [path for path in (folder / f"{split}.npz", *sorted(folder.glob(f"*-{split}-*"))) if path.exists()]
        if not found:
            raise SystemExit(f"{folder}: no features of {split}")
        part = read_features(found[0])
        order = np.random.default_rng(0).permutation(len(part))
        parts.append((np.asarray(part.X[:], np.float32)[order], part.y[order]))
    share = 1 if most is None else min(most / len(parts[0][1]), 1)
    return [(X[: round(len(X) * share)], y[: round(len(y) * share)]) for X, y in parts]


def timed(function: Callable[[], object], device: torch.device) -> float:
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    synchronise(device)
    start = clock()
    function()
    synchronise(device)
    return clock() - start


def run_ours(parts: list[Part], device: torch.device, converge: Converge) -> tuple[float, ManyShot]:
    given = [(torch.from_numpy(X).to(device), Labels(torch.from_numpy(y).to(device))) for X, y in parts]
    protocol = replace(ERICSSON_2021, converge=converge)
    found: list[ManyShot] = []
    seconds = timed(lambda: found.append(many_shot(given, "top1", protocol)), device)
    return seconds, found[0]


def run_peer(parts: list[Part], every: int) -> tuple[float, int, dict[float, float], float]:
    """Seconds, how many fits were stopped before their optimum, penalty → validation score, and the accuracy.

    Seconds are scaled to all penalties if only some are fitted; each fit is reported when it ends.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    train, val, test = parts
    model = LogisticRegression(warm_start=True, max_iter=100)
    scores: dict[float, float] = {}
    stopped, cpu = 0, torch.device("cpu")

    def fit(penalty: float) -> None:
        nonlocal stopped
        model.set_params(C=1 / penalty).fit(*train)
        stopped += int(model.n_iter_[0] >= model.max_iter)
        scores[penalty] = model.score(*val)

    def refit() -> None:
        model.set_params(C=1 / max(scores, key=scores.__getitem__))
        model.fit(np.concatenate([train[0], val[0]]), np.concatenate([train[1], val[1]]))

    seconds = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # counted instead
        for penalty in ERICSSON_2021.penalties.tolist()[::every]:
            took = timed(partial(fit, penalty), cpu)
            seconds += took * every
            print(
                f"scikit-learn {penalty:.3g}: {took:.1f} s, {model.n_iter_[0]} iterations", file=sys.stderr, flush=True
            )
        seconds += timed(refit, cpu)
    return seconds, stopped, scores, float(model.score(*test))


def row(name: str, seconds: float, found: ManyShot) -> str:
    tried = [score for score in found.validation if score is not None]
    cells = f"{seconds:.1f} | {len(tried)} | {sum(found.iterations)} | {found.penalty:.3g}"
    return f"| {name} | {cells} | {found.validation[found.place]:.2%} | {found.score:.2%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", nargs="+", type=Path, required=True, help="a folder for each data set")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--most", type=int, help="most training images")
    parser.add_argument("--all", action="store_true", help="also solve every fit to its optimum")
    parser.add_argument("--peer", action="store_true", help="also time the loop over scikit-learn")
    parser.add_argument("--only-peer", action="store_true", help="time only the loop over scikit-learn")
    parser.add_argument("--peer-every", type=int, default=1, help="fit every n-th penalty only; seconds are scaled")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    print(f"{describe(device)}; scikit-learn on the CPU\n")
    print("| features | seconds | constants tried | iterations | constant | validation | test |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for folder in options.features:
        parts = read(folder, options.most)
        (rows, dimension), classes = parts[0][0].shape, len(np.unique(parts[0][1]))
        name = f"{folder.parent.name}/{folder.name}, {rows:,} × {dimension}, {classes}"
        if not options.only_peer:
            print(row(name, *run_ours(parts, device, "chosen")), flush=True)
        if options.all:
            seconds, found = run_ours(parts, device, "all")
            print(row("all at their optima", seconds, found), flush=True)
            print("validation:", *(f"{score:.4f}" for score in found.validation if score is not None))
        if options.peer or options.only_peer:
            seconds, stopped, scores, accuracy = run_peer(parts, options.peer_every)
            penalty = max(scores, key=scores.__getitem__)
            cells = f"{seconds:.1f} | {len(scores)}, {stopped} stopped | | {penalty:.3g}"
            print(f"| {name}, scikit-learn | {cells} | {scores[penalty]:.2%} | {accuracy:.2%} |", flush=True)


if __name__ == "__main__":
    main()
