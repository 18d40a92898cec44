"""Speed of k-means, PCA, nearest neighbours, ridge regression and few-shot episodes.

    .venv/bin/python benchmarks/other_probes.py [--quick] [--only NAME …]
    .venv/bin/python benchmarks/other_probes.py --device cuda

On the CPU, each takes turns with scikit-learn (episodes: with a plain loop), and the ratio of median times is
printed. On a GPU there is no alternative to compare with: the sizes are those of ImageNet, and seconds are printed.
Features are drawn from overlapping groups with a decreasing spectrum.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median

import numpy as np
import torch
from torch import Generator, Tensor

from machine import describe, timed
from unseen.probes.centroids import centroids
from unseen.probes.kmeans import kmeans
from unseen.probes.knn import knn
from unseen.probes.pca import pca
from unseen.probes.ridge import ridge

PENALTIES = np.logspace(-6, 5, 45).tolist()


@dataclass(frozen=True)
class Case:
    """Something to time, and its alternative; each run returns a remark to print."""

    name: str
    ours: Callable[[], str]
    theirs: Callable[[], str] | None = None


def features(n: int, d: int, groups: int, device: str = "cpu") -> tuple[Tensor, Tensor]:
    """(n, d) samples and their groups, made in pieces to save memory."""
    generator = Generator(device).manual_seed(n + d)
    scales = torch.arange(1, d + 1, device=device) ** -0.5
    centres = 0.7 * scales * torch.randn(groups, d, generator=generator, device=device)
    y = torch.randint(groups, (n,), generator=generator, device=device)
    X = torch.empty(n, d, device=device)
    for start in range(0, n, 1 << 16):
        part = X[start : start + (1 << 16)].normal_(generator=generator)
        part.mul_(scales).add_(centres[y[start : start + (1 << 16)]])
    return X, y


def kmeans_cases(sizes: list[tuple[int, int, int]]) -> Iterator[Case]:
    from sklearn.cluster import KMeans

    for n, d, k in sizes:
        X, _ = features(n, d, k)
        starts = [X[torch.randperm(n, generator=Generator().manual_seed(seed))[:k]] for seed in range(3)]

        def ours(X: Tensor = X, k: int = k, starts: list[Tensor] = starts) -> str:
            runs = [kmeans(X, k, start=start) for start in starts]
            return f"{sum(run.iterations for run in runs)} updates, inertia {sum(run.inertia for run in runs):.6g}"

        def theirs(X: Tensor = X, k: int = k, starts: list[Tensor] = starts) -> str:
            runs = [KMeans(k, init=start.numpy(), n_init=1).fit(X.numpy()) for start in starts]
            return f"{sum(run.n_iter_ for run in runs)} updates, inertia {sum(run.inertia_ for run in runs):.6g}"

        yield Case(f"k-means, {n:,} × {d}, k = {k}, same three starts", ours, theirs)
    n, d, k = sizes[0]
    X, _ = features(n, d, k)
    yield Case(
        f"k-means, {n:,} × {d}, k = {k}, three k-means++ seeds",
        lambda: f"inertia {kmeans(X, k).inertia:.6g}",
        lambda: f"inertia {KMeans(k, n_init=3, random_state=0).fit(X.numpy()).inertia_:.6g}",
    )


def pca_cases(n: int, d: int) -> Iterator[Case]:
    from sklearn.decomposition import PCA

    for rows in (n, d // 2):
        X, _ = features(rows, d, 100)

        def ours(X: Tensor = X) -> str:
            return f"first share {float(pca(X).ratios[0]):.4f}"

        def theirs(X: Tensor = X) -> str:
            return f"first share {PCA(svd_solver='full').fit(X.numpy()).explained_variance_ratio_[0]:.4f}"

        yield Case(f"PCA, {rows:,} × {d}, all components", ours, theirs)


def knn_cases(n: int, queries: int, d: int) -> Iterator[Case]:
    from sklearn.neighbors import NearestNeighbors

    X, y = features(n + queries, d, 100)
    X = torch.nn.functional.normalize(X, dim=1)
    train, test = X[:n], X[n:]

    def theirs() -> str:
        # Of unit rows the Euclidean distance has the same order, and is scikit-learn's fastest.
        NearestNeighbors(n_neighbors=200, algorithm="brute").fit(train.numpy()).kneighbors(test.numpy())
        return "search only"

    yield Case(
        f"nearest neighbours, {queries:,} of {n:,} × {d}, k up to 200",
        lambda: f"top-1 {knn(train, y[:n], test, y[n:]).top1[3]:.3f} at k = 20",
        theirs,
    )


def ridge_cases(n: int, d: int, classes: int) -> Iterator[Case]:
    from sklearn.linear_model import Ridge

    X, y = features(n + 1000, d, classes)
    targets = torch.nn.functional.one_hot(y[:n]).float().numpy()

    def theirs() -> str:
        found = []
        for penalty in PENALTIES:
            predicted = Ridge(penalty).fit(X[:n].numpy(), targets).predict(X[n:].numpy())
            found.append((predicted.argmax(axis=1) == y[n:].numpy()).mean())
        return f"best {max(found):.3f}"

    yield Case(
        f"ridge, {n:,} × {d}, {classes} classes, {len(PENALTIES)} penalties",
        lambda: f"best {float(ridge(X[:n], y[:n], PENALTIES).accuracies(X[n:], y[n:]).max()):.3f}",
        theirs,
    )


def centroids_cases(n: int, d: int) -> Iterator[Case]:
    X, y = features(n, d, 100)

    def theirs() -> str:
        found = []
        order = np.random.default_rng(0)
        members = [np.flatnonzero(y.numpy() == label) for label in range(100)]
        for _ in range(600):
            drawn = [order.choice(members[label], 20, replace=False) for label in order.choice(100, 5, replace=False)]
            means = torch.stack([X[rows[:5]].mean(dim=0) for rows in drawn])
            distances = torch.cdist(torch.cat([X[rows[5:]] for rows in drawn]), means)
            found.append(float((distances.argmin(dim=1).view(5, 15) == torch.arange(5)[:, None]).double().mean()))
        return f"{np.mean(found):.3f}"

    yield Case(
        f"few-shot, 600 episodes of 5 × (5 + 15), {n:,} × {d}",
        lambda: f"{centroids(X, y, shots=5).accuracy:.3f}",
        theirs,
    )


def cpu_cases(quick: bool) -> dict[str, Iterator[Case]]:
    small = [(4000, 128, 50), (2000, 512, 200)]
    return {
        "kmeans": kmeans_cases(small if quick else [(20_000, 256, 100), (20_000, 2048, 1000)]),
        "pca": pca_cases(*((4000, 256) if quick else (20_000, 1024))),
        "knn": knn_cases(*((5000, 1000, 128) if quick else (50_000, 5000, 512))),
        "ridge": ridge_cases(*((2000, 256, 20) if quick else (10_000, 1024, 100))),
        "centroids": centroids_cases(*((5000, 128) if quick else (20_000, 1024))),
    }


def gpu_cases(quick: bool) -> dict[str, Iterator[Case]]:
    n, d, k = (100_000, 512, 200) if quick else (1_000_000, 2048, 1000)

    def clusters() -> Iterator[Case]:
        X, _ = features(n, d, k, "cuda")

        def run(seeds: tuple[int, ...], half: bool | None = None, start: str = "k-means++") -> str:
            found = kmeans(X, k, seeds=seeds, half=half, start=start)  # type: ignore[arg-type]
            return f"{found.iterations} updates by the best, inertia {found.inertia:.6g}"

        size = f"k-means, {n:,} × {d}, k = {k}"
        yield Case(f"{size}, three k-means++ seeds", lambda: run((0, 1, 2)))
        yield Case(f"{size}, one k-means++ seed", lambda: run((0,)))
        yield Case(f"{size}, one random start", lambda: run((0,), start="random"))
        yield Case(f"{size}, one random start, float32 only", lambda: run((0,), half=False, start="random"))

    def others() -> Iterator[Case]:
        X, y = features(n, d, k, "cuda")
        held = n // 20
        yield Case(f"PCA, {n:,} × {d}, all components", lambda: f"first share {float(pca(X).ratios[0]):.4f}")
        yield Case(
            f"nearest neighbours, {held:,} of {n - held:,} × {d}, k up to 200",
            lambda: f"top-1 {knn(X[held:], y[held:], X[:held], y[:held]).top1[3]:.3f} at k = 20",
        )
        yield Case(
            f"ridge, {n - held:,} × {d}, {k} classes, {len(PENALTIES)} penalties",
            lambda: f"best {float(ridge(X[held:], y[held:], PENALTIES).accuracies(X[:held], y[:held]).max()):.3f}",
        )
        yield Case(
            f"few-shot, 600 episodes of 5 × (50 + 15), {n:,} × {d}",
            lambda: f"{centroids(X, y, shots=50).accuracy:.3f}",
        )

    return {"kmeans": clusters(), "others": others()}


def seconds(function: Callable[[], str], device: torch.device) -> tuple[float, str]:
    remarks: list[str] = []
    return timed(lambda: remarks.append(function()), device), remarks[0]


def measure(case: Case, device: torch.device, repeats: int) -> str:
    """A row of the table: medians of runs taken alternately."""
    ours, theirs = [], []
    found = ["", ""]
    if device.type == "cuda":
        seconds(case.ours, device)  # the first run loads kernels
    for _ in range(repeats):
        taken, found[0] = seconds(case.ours, device)
        ours.append(taken)
        if case.theirs:
            taken, found[1] = seconds(case.theirs, device)
            theirs.append(taken)
    row = f"| {case.name} | {median(ours):.3f} s | {found[0]} |"
    return f"{row} {median(theirs):.3f} s | {found[1]} | {median(theirs) / median(ours):.1f}× |" if theirs else row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="kmeans, pca, knn, ridge, centroids; others"
    )
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn warns of penalties near zero
    device = torch.device(options.device)
    columns = ["", "unseen", "found"]
    if device.type == "cpu":
        columns += ["scikit-learn or loop", "found", "ratio"]
        print(f"scikit-learn {version('scikit-learn')}, ", end="")
    print(describe(device), end="\n\n")
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    cases = (cpu_cases if device.type == "cpu" else gpu_cases)(options.quick)
    for name, group in cases.items():
        if not options.only or name in options.only:
            for case in group:
                print(measure(case, device, options.repeats), flush=True)


if __name__ == "__main__":
    main()
