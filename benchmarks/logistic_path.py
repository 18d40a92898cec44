"""How fast the path of logistic regressions of `ericsson-2021` is, against scikit-learn's warm-started loop.

    .venv/bin/python benchmarks/logistic_path.py                    # 10,000 × 2048, 100 classes: half an hour
    .venv/bin/python benchmarks/logistic_path.py --n 2500 --d 512 --classes 50
    .venv/bin/python benchmarks/logistic_path.py --device cuda --skip-sklearn --block 1 5 9

Features are those of a random layer with a ReLU over latent class centres and noise, both with a decaying spectrum:
non-negative, correlated, with a mean, and classes that overlap. scikit-learn runs in float64 from the strongest penalty
to the weakest, each fit started from the last. Gradients and objectives of both are then computed by the same NumPy
code: the gradient of the mean objective by weights and biases of the features as they are, relative to its norm at
zero. Times are of the wall clock and of all processors; the second is the fairer where others use the machine.
"""

import argparse
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from machine import describe, synchronise
from unseen.probes.newton.path import logistic_path

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """Weights (p, d, c) and biases (p, c) of a path from the strongest penalty on, and what they took."""

    name: str
    weights: Floats
    bias: Floats
    iterations: list[int]
    wall: float
    processors: float


@dataclass(frozen=True)
class Quality:
    """Of every penalty: objective as a share of that at zero, and relative norms of the gradient."""

    objective: Floats
    norm: Floats
    largest_entry: Floats


def features(n: int, d: int, classes: int, overlap: float, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training features and labels, and 2,000 for a test."""
    generator = Generator().manual_seed(seed)
    spectrum = torch.arange(1, d + 1) ** -0.8
    layer = torch.randn(d, d, generator=generator) / (spectrum.norm() * (1 + overlap**2) ** 0.5)
    centres = torch.randn(classes, d, generator=generator)
    y = torch.randint(classes, (n + 2000,), generator=generator)
    latent = (centres[y] + overlap * torch.randn(len(y), d, generator=generator)) * spectrum
    X = torch.relu(latent @ layer - 0.3)
    return X[:n], y[:n], X[n:], y[n:]


def timed(function: Callable[[], object], device: torch.device) -> tuple[float, float]:
    """Seconds by the wall clock and of all processors."""
    synchronise(device)
    wall, processors = time.perf_counter(), time.process_time()
    function()
    synchronise(device)
    return time.perf_counter() - wall, time.process_time() - processors


def run_ours(X: Tensor, y: Tensor, penalties: Floats, device: torch.device, tol: float, block: int | None) -> Run:
    X, y = X.to(device), y.to(device)
    found = []
    wall, processors = timed(
        lambda: found.append(logistic_path(X, y, torch.from_numpy(penalties), tol=tol, block=block)), device
    )
    path = found[0]
    if not path.converged.all():
        print(f"not converged: {path.penalties[~path.converged].tolist()}")
    weights, bias = path.weights.cpu().numpy(), path.bias.cpu().numpy()
    name = f"unseen, tol {tol:.0e}" + (f", blocks of {block}" if block else "")
    return Run(name, weights, bias, path.iterations.tolist(), wall, processors)


def run_scikit_learn(X: Tensor, y: Tensor, penalties: Floats, solver: str, tol: float) -> Run:
    from sklearn.linear_model import LogisticRegression

    x, labels = X.double().numpy(), y.numpy()
    model = LogisticRegression(solver=solver, tol=tol, max_iter=100_000, warm_start=True)
    weights, bias, iterations = [], [], []

    def loop() -> None:
        for penalty in penalties.tolist():
            model.set_params(C=1 / penalty).fit(x, labels)
            weights.append(model.coef_.T.copy())
            bias.append(model.intercept_.copy())
            iterations.append(int(model.n_iter_[0]))

    wall, processors = timed(loop, torch.device("cpu"))
    return Run(f"scikit-learn {solver}", np.stack(weights), np.stack(bias), iterations, wall, processors)


def assess(X: Tensor, y: Tensor, penalties: Floats, run: Run) -> Quality:
    x, labels = X.double().numpy(), y.numpy()
    n, d = x.shape
    classes = run.bias.shape[1]
    target = np.eye(classes)[labels]

    def at(weights: Floats, bias: Floats, penalty: float) -> tuple[float, float, float]:
        scores = x @ weights + bias
        scores -= scores.max(axis=1, keepdims=True)
        sums = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        residual = np.exp(scores - sums) - target
        gradient = np.vstack([x.T @ residual + penalty * weights, residual.sum(axis=0)]) / n
        loss = float((sums[:, 0] - scores[np.arange(n), labels]).sum())
        value = loss + 0.5 * penalty * float((weights**2).sum())
        return value, float(np.linalg.norm(gradient)), float(np.abs(gradient).max())

    zero = at(np.zeros((d, classes)), np.zeros(classes), 0.0)
    each = [at(w, b, p) for w, b, p in zip(run.weights, run.bias, penalties.tolist(), strict=True)]
    objective, norm, entry = (
        np.array(values) / first for values, first in zip(zip(*each, strict=True), zero, strict=True)
    )
    return Quality(objective, norm, entry)


def best_accuracy(X: Tensor, y: Tensor, run: Run) -> float:
    scores = np.einsum("nd,pdc->pnc", X.double().numpy(), run.weights, optimize=True) + run.bias[:, None]
    return float((scores.argmax(axis=2) == y.numpy()).mean(axis=1).max())


def print_row(run: Run, quality: Quality) -> None:
    print(
        f"| {run.name} | {run.wall:.1f} s | {run.processors:.1f} s | {sum(run.iterations)} | {quality.norm.max():.1e} "
        f"| {np.median(quality.norm):.1e} | {quality.largest_entry.max():.1e} |"
    )


def compare(ours: Run, our_quality: Quality, theirs: Run, their_quality: Quality) -> None:
    above = our_quality.objective - their_quality.objective
    behind = int((our_quality.norm > their_quality.norm).sum())
    print(
        f"\n{theirs.name} took {theirs.wall / ours.wall:.1f} times as long as {ours.name} by the wall clock, ", end=""
    )
    print(f"{theirs.processors / ours.processors:.1f} times by processors. Its gradient is the smaller at ", end="")
    print(f"{behind} of {len(above)} penalties. Objectives as shares of that at zero weights: unseen's is ", end="")
    print(f"at most {max(above.max(), 0):.0e} above and {max(-above.min(), 0):.0e} below.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--d", type=int, default=2048)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--penalties", type=int, default=45)
    parser.add_argument("--overlap", type=float, default=2.4, help="noise in units of the spread of class centres")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tol", type=float, nargs="*", default=[1e-6], help="of unseen; each is timed")
    parser.add_argument("--block", type=int, nargs="*", default=[None], help="of unseen; each is timed")
    parser.add_argument(
        "--sklearn-tol", type=float, default=1e-7, help="largest entry of the gradient of the mean loss"
    )
    parser.add_argument("--solvers", nargs="*", default=["lbfgs"], help="of scikit-learn")
    parser.add_argument("--skip-sklearn", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    penalties = np.logspace(5, -6, options.penalties)
    X, y, X_test, y_test = features(options.n, options.d, options.classes, options.overlap)
    print(f"{describe(device)}, {platform.machine()}", end="")
    print("" if options.skip_sklearn else f", scikit-learn {version('scikit-learn')}, SciPy {version('scipy')}")
    run_ours(X[:500], y[:500] % 5, penalties[:3], device, 1e-3, None)  # wakes threads and libraries

    mine = [run_ours(X, y, penalties, device, tol, block) for tol in options.tol for block in options.block]
    theirs = []
    if not options.skip_sklearn:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        with threadpool_limits(options.threads):
            theirs = [run_scikit_learn(X, y, penalties, solver, options.sklearn_tol) for solver in options.solvers]
    print(f"\n{options.n} × {options.d}, {options.classes} classes, {options.penalties} penalties; ", end="")
    print(f"best test accuracy {best_accuracy(X_test, y_test, mine[0]):.1%}\n")
    print("| | wall | processors | iterations | gradient, worst | median | largest entry, worst |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    qualities = [assess(X, y, penalties, run) for run in mine + theirs]
    for run, quality in zip(mine + theirs, qualities, strict=True):
        print_row(run, quality)
    for run, quality in zip(theirs, qualities[len(mine) :], strict=True):
        for other, ours in zip(mine, qualities, strict=False):
            compare(other, ours, run, quality)


if __name__ == "__main__":
    main()
