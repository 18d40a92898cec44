"""The linear probe of the task study against scikit-learn's loop, at the sizes of real data sets.

    .venv/bin/python benchmarks/task_probes.py --sets digits                       # seconds: shows that it works
    .venv/bin/python benchmarks/task_probes.py --device cuda --peer-share 0.05     # all sets of the paper

The probe is all that `unseen tasks` does with given features of a data set: 45 penalties on training data, the choice
on validation data, the refit, the score and the calibration. The peer is what the paper's public code does:
scikit-learn's LogisticRegression for each of the 45 penalties, from the weakest on, each fit started from the last and
stopped at 100 iterations, then the refit. Features are synthetic, as in `logistic_path.py`.

Where the peer would take hours it is timed on a share of the images (`--peer-share`), and the time at full size is that
divided by the share, as L-BFGS reads all images in every iteration; that it needs as many iterations is assumed. Such
times are marked with ≈.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
import torch

from logistic_path import features
from machine import describe, timed
from unseen.probes.many_shot import ERICSSON_2021, Labels, ManyShot, many_shot


@dataclass(frozen=True)
class Size:
    """Images that train, validate and test, and classes."""

    train: int
    val: int
    test: int
    classes: int
    dimension: int = 2048


SIZES = {
    "digits": Size(1151, 287, 359, 10, 64),
    "aircraft": Size(3334, 3333, 3333, 100),
    "caltech101": Size(2448, 612, 6084, 102),
    "cars": Size(6516, 1628, 8041, 196),
    "cifar10": Size(40_000, 10_000, 10_000, 10),
    "cifar100": Size(40_000, 10_000, 10_000, 100),
    "dtd": Size(1880, 1880, 1880, 47),
    "flowers": Size(1020, 1020, 6149, 102),
    "food101": Size(60_600, 15_150, 25_250, 101),
    "pets": Size(2944, 736, 3669, 37),
    "sun397": Size(15_880, 3970, 19_850, 397),
}
Part = tuple[torch.Tensor, torch.Tensor]


def make(size: Size, overlap: float) -> list[Part]:
    """Training, validation and test data, each of which begins with an image of every class."""
    counts = [size.train, size.val, size.test]
    X, y, _, _ = features(sum(counts), size.dimension, size.classes, overlap)
    y = y.clone()
    parts = []
    for features_, labels in zip(torch.split(X, counts), torch.split(y, counts), strict=True):
        labels[: size.classes] = torch.arange(size.classes)  # a few wrong labels, but no class without an image
        parts.append((features_, labels))
    return parts


def run_ours(parts: list[Part], device: torch.device) -> tuple[float, ManyShot]:
    given = [(X.to(device), Labels(y.to(device))) for X, y in parts]
    found: list[ManyShot] = []
    seconds = timed(lambda: found.append(many_shot(given, "top1")), device)
    return seconds, found[0]


def run_peer(parts: list[Part], share: float) -> tuple[float, float, int]:
    """Seconds at full size, the accuracy, and how many of the fits were stopped before their optimum."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    arrays = []
    for X, y in parts:
        classes = int(y.max()) + 1
        count = max(int(len(y) * share), classes)
        arrays.append((X[:count].double().numpy(), y[:count].numpy()))
    train, val, test = arrays
    model = LogisticRegression(warm_start=True, max_iter=100)
    scores: list[float] = []
    stopped = 0

    def loop() -> None:
        nonlocal stopped
        for penalty in ERICSSON_2021.penalties.tolist():
            model.set_params(C=1 / penalty).fit(*train)
            stopped += int(model.n_iter_[0] >= model.max_iter)
            scores.append(model.score(*val))
        model.set_params(C=1 / float(ERICSSON_2021.penalties[int(np.argmax(scores))]))
        model.fit(*(np.concatenate(pair) for pair in zip(train, val, strict=True)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # counted instead
        seconds = timed(loop, torch.device("cpu"))
    return seconds * len(parts[0][1]) / len(train[1]), float(model.score(*test)), stopped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=[name for name in SIZES if name != "digits"], choices=list(SIZES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--overlap", type=float, default=2.4, help="noise in units of the spread of class centres")
    parser.add_argument("--peer-share", type=float, default=1.0, help="of the images that scikit-learn is timed on")
    parser.add_argument("--skip-peer", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    print(f"{describe(device)}; scikit-learn on {options.threads} CPU threads\n")
    print("| data set | images × dimensions, classes | unseen | converged | top-1 ", end="")
    print("| scikit-learn | stopped | top-1 | ratio |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    total = 0.0
    for name in options.sets:
        size = SIZES[name]
        parts = make(size, options.overlap)
        seconds, found = run_ours(parts, device)
        total += seconds
        shape = f"{size.train + size.val:,} × {size.dimension}, {size.classes}"
        mine = f"| {name} | {shape} | {seconds:.1f} s | {sum(found.converged)} of 45 | {found.score:.1%} |"
        if options.skip_peer:
            print(f"{mine} – | – | – | – |", flush=True)
            continue
        share = options.peer_share
        peer, accuracy, stopped = run_peer(parts, share)
        mark, shown = ("≈ ", "–") if share < 1 else ("", f"{accuracy:.1%}")
        print(f"{mine} {mark}{peer:.1f} s | {stopped} of 45 | {shown} | {mark}{peer / seconds:.1f} |", flush=True)
    print(f"\nAll of them: {total:.0f} s.")


if __name__ == "__main__":
    main()
