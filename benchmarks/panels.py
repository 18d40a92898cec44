"""How well panels of 5, 10 and 20 of 45 concepts give the scores of held-out networks, beside random panels.

    PYTHONPATH=src:scripts python benchmarks/panels.py [benchmarks/drawing_pool.npz] [--features FOLDER]

The pool is 48 small networks on the five levels of the drawings (`scripts/drawing_pool`). With their features (kept by
`drawing_pool.probe_pool --features`), the panels are also run as levels of their own, with probes that only have the
concepts of the panel: panels and lines are chosen on half of the networks and tested on the other half.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from drawing_pool.probe_pool import TRAINED_ON, hits_of
from unseen.analyses.panels.choice import Floats, Places, choose_panel, fit_lines, panel_mean
from unseen.analyses.panels.held_out import HeldOut, error_on_other_kinds, evaluate

POOL = Path(__file__).with_name("drawing_pool.npz")
SIZES, TEST_DRAWINGS = (5, 10, 20), 20
FEW, DRAWS = (6, 12, 24), 10
RANDOM_ALONE = 8
"""Random panels whose probes are fitted: each takes half a minute for all networks and levels."""


def main() -> None:
    """Print a table per question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pool", type=Path, nargs="?", default=POOL, help="results, from drawing_pool.probe_pool")
    parser.add_argument("--features", type=Path, help="folder of features, to run panels as levels of their own")
    args = parser.parse_args()
    levels, families, names = read_pool(args.pool)
    scores = {name: accuracy.mean(axis=1) for name, accuracy in levels.items()}
    spread = ", ".join(
        f"{name} {100 * each.min():.0f} to {100 * each.max():.0f} (sd {100 * each.std(ddof=1):.1f})"
        for name, each in scores.items()
    )
    print(f"{len(names)} networks; top-1 in percent: {spread}\n")
    all_networks(levels, families)
    few_networks(levels)
    if args.features:
        alone(levels, names, args.features)


def read_pool(path: Path) -> tuple[dict[str, Floats], list[str], list[str]]:
    """Level → (networks, concepts) accuracies; the family and the name of each network."""
    with np.load(path, allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        hits = np.unpackbits(file["hits"], axis=-1, count=int(file["drawings"]))
    shares = hits.reshape(*hits.shape[:2], -1, TEST_DRAWINGS).mean(axis=-1)
    networks = about["networks"]
    levels = {name: shares[:, place] for place, name in enumerate(about["levels"])}
    return levels, [each["family"] for each in networks], [each["name"] for each in networks]


def all_networks(levels: dict[str, Floats], families: Sequence[str]) -> None:
    """Every level, with all networks: as `unseen panel` reports it."""
    print("| level | concepts | chosen | random | difference | better than random panels | other families | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for k in SIZES:
        for name, accuracy in levels.items():
            found = evaluate(accuracy, np.ones(accuracy.shape[1]), k)
            others = error_on_other_kinds(accuracy, np.ones(accuracy.shape[1]), k, families)
            cells = [name, k, *_cells(found), f"{100 * found.beaten:.0f}%", f"{100 * (others or np.nan):.2f}"]
            print(f"| {' | '.join(map(str, cells))} | {found.verdict} |", flush=True)


def few_networks(levels: dict[str, Floats]) -> None:
    """Only some networks: mean errors over levels and draws, and how often the choice is called better."""
    print("\n| networks | concepts | chosen | random | called better | called worse |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(0)
    for count in FEW:
        for k in SIZES:
            found = [
                evaluate(accuracy[rng.permutation(len(accuracy))[:count]], np.ones(accuracy.shape[1]), k)
                for accuracy in levels.values()
                for _ in range(DRAWS)
            ]
            chosen, random = (
                np.mean([100 * part.value for part in parts])
                for parts in zip(*((each.error, each.random) for each in found), strict=True)
            )
            called = [sum(each.verdict == verdict for each in found) for verdict in ("better", "worse")]
            shares = [f"{number} of {len(found)}" for number in called]
            print(f"| {count} | {k} | {chosen:.2f} | {random:.2f} | {shares[0]} | {shares[1]} |", flush=True)


def alone(levels: dict[str, Floats], names: Sequence[str], folder: Path) -> None:
    """Panels as levels of their own, whose probes have no other concepts."""
    print(
        "\n| concepts | chosen | random | chosen, among all concepts | random, among all concepts | rank correlation |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    rng, count = np.random.default_rng(0), len(names)
    half = rng.permutation(count)
    train, test = np.sort(half[::2]), np.sort(half[1::2])
    for k in SIZES:
        errors = dict[str, list[float]]()
        correlations = []
        for level, accuracy in levels.items():
            weights, score = np.ones(accuracy.shape[1]), accuracy.mean(axis=1)
            chosen = choose_panel(accuracy[train], weights, k)
            randoms = [np.sort(rng.permutation(accuracy.shape[1])[:k]) for _ in range(RANDOM_ALONE)]
            panels = [chosen, *randoms]
            own = np.array([[_alone(folder / f"{name}.npz", level, places) for name in names] for places in panels])
            for kind, means in (
                ("alone", own),
                ("among", np.stack([panel_mean(accuracy, weights, places) for places in panels])),
            ):
                intercepts, slopes = fit_lines(means[:, train], score[train])
                absolute = np.abs(intercepts[:, None] + slopes[:, None] * means[:, test] - score[test]).mean(axis=1)
                errors.setdefault(f"{kind} chosen", []).append(absolute[0])
                errors.setdefault(f"{kind} random", []).append(absolute[1:].mean())
            correlations.append(float(spearmanr(own[0][test], score[test]).statistic))
        cells = [
            f"{100 * np.mean(errors[name]):.2f}"
            for name in ("alone chosen", "alone random", "among chosen", "among random")
        ]
        print(f"| {k} | {' | '.join(cells)} | {np.mean(correlations):.3f} |", flush=True)


def _alone(path: Path, level: str, places: Places) -> float:
    """The accuracy of a probe that has only the concepts of the panel."""
    with np.load(path, allow_pickle=False) as file:
        sides = []
        for side, each in (("train", TRAINED_ON), ("test", TEST_DRAWINGS)):
            X = file[f"{level}/{side}"]
            kept = X.reshape(-1, each, X.shape[1])[places].reshape(-1, X.shape[1])
            sides.append((torch.from_numpy(kept).float(), torch.arange(len(places)).repeat_interleave(each)))
    return float(hits_of(*sides).mean())


def _cells(found: HeldOut) -> list[str]:
    return [
        f"{100 * each.value:.2f} ({100 * each.low:.2f} to {100 * each.high:.2f})"
        for each in (found.error, found.random, found.difference)
    ]


if __name__ == "__main__":
    main()
