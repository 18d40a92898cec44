"""The speed and accuracy of `cog-v2-pruned`, which stops trials early, compared with `cog-v2`.

    PYTHONPATH=benchmarks python benchmarks/pruned.py --true-size                       # minutes on one GPU
    PYTHONPATH=benchmarks python benchmarks/pruned.py --demo supervised:l5 pixels:l1    # features of the package
    PYTHONPATH=benchmarks python benchmarks/pruned.py --features FOLDER … --shots all 8 --seeds 24
    PYTHONPATH=benchmarks python benchmarks/pruned.py --demo pixels:l1 --cuts 10:12 30:4   # other cuts, at all sizes

A folder has train.npz, test.npz and optionally val.npz, which is added to the training features. Both protocols use
the same seeds, and with them the same validation part, initial weights and order of samples, so that differences in
the final test accuracy are paired.

At true size, features are synthetic: 1,100,000 × 2048 in 16 bits, 1000 classes around random centres. One domain and
seed with its 8 few-shot settings is run to its end with both protocols, and scaled to a model: 6 domains, 5 seeds.
"""

import argparse
import math
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from torch import Tensor

from machine import describe, synchronise
from sweep import SHOTS, mixture
from unseen.api.example import example
from unseen.device import default_device
from unseen.probes.logistic import Setting, probe_settings
from unseen.probes.protocol import COG_V2, COG_V2_PRUNED, LogisticProtocol
from unseen.probes.sgd.trainer import Trainer

Data = tuple[Tensor, Tensor, Tensor, Tensor]
DOMAINS, SEEDS = 6, 5


def from_folder(folder: Path) -> Data:
    """Training features, those for validation among them, and test features."""
    read = {path.stem: np.load(path, allow_pickle=False) for path in sorted(folder.glob("*.npz"))}
    sides = (("train", "val"), ("test",))
    parts = [
        torch.from_numpy(np.concatenate([read[name][key] for name in side if name in read]))
        for side in sides
        for key in ("X", "y")
    ]
    return parts[0], parts[1], parts[2], parts[3]


def from_demo(name: str) -> Data:
    """`backbone:domain` of `unseen.example`."""
    backbone, domain = name.split(":")
    X, labels, X_test, test_labels = example(domain, backbone=backbone)
    names = sorted(set(labels.tolist()))
    y, y_test = (torch.tensor([names.index(label) for label in side.tolist()]) for side in (labels, test_labels))
    return torch.from_numpy(X), y, torch.from_numpy(X_test), y_test


def accuracies(data: Data, protocol: LogisticProtocol, settings: list[Setting], device: str) -> list[float]:
    """Final top-1 in percent of each setting."""
    found = dict(probe_settings(*data, settings, protocol=protocol, device=device))
    return [100 * found[setting].top1 for setting in settings]


def cut(pairs: list[str]) -> LogisticProtocol:
    """The protocol with other cuts, also for short epochs; unchanged if no cuts are given."""
    if not pairs:
        return COG_V2_PRUNED
    epochs, survivors = zip(*(map(int, pair.split(":")) for pair in pairs), strict=True)
    return replace(COG_V2_PRUNED, cut_epochs=epochs, late_cut_epochs=epochs, survivors=survivors, least_steps=1)


def differences(options: argparse.Namespace) -> None:
    sets = chain(
        ((folder.name, from_folder(folder)) for folder in options.features),
        ((name, from_demo(name)) for name in options.demo),
    )
    print("| features | training × dimensions, classes | shots | cog-v2 | pruned − cog-v2 | standard error | seconds |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    gaps: dict[int | None, list[tuple[float, float]]] = {}
    for name, data in sets:
        size = f"{len(data[0]):,} × {data[0].shape[1]}, {int(data[1].max()) + 1}"
        for shots in options.shots:
            settings = [Setting(shots, seed) for seed in range(options.seeds)]
            seconds, top1 = [], []
            for protocol in (COG_V2, options.cuts):
                start = time.perf_counter()
                top1.append(accuracies(data, protocol, settings, options.device))
                seconds.append(time.perf_counter() - start)
            each = [after - before for before, after in zip(*top1, strict=True)]
            gap, error = mean(each), stdev(each) / math.sqrt(len(each))
            gaps.setdefault(shots, []).append((gap, error))
            print(
                f"| {name} | {size} | {shots or 'all'} | {mean(top1[0]):.2f} | {gap:+.3f} | {error:.3f} | "
                f"{seconds[0]:.1f}, {seconds[1]:.1f} |", flush=True,
            )  # fmt: skip
    for shots, found in gaps.items():
        error = math.hypot(*(each for _, each in found)) / len(found)
        print(
            f"| mean of {len(found)} sets | | {shots or 'all'} | | {mean(g for g, _ in found):+.3f} | {error:.3f} | |"
        )


def true_size(options: argparse.Namespace) -> None:
    device = torch.device(options.device)
    X, y = mixture(options.rows, options.dimension, options.classes, device, options.noise)
    X_test, y_test = mixture(50 * options.classes, options.dimension, options.classes, device, options.noise, seed=1)
    data = X.half().cpu(), y.cpu(), X_test.half().cpu(), y_test.cpu()
    del X, X_test
    print(f"\n{options.rows:,} × {options.dimension} in 16 bits, {options.classes} classes", flush=True)

    def seconds(protocol: LogisticProtocol, settings: list[Setting]) -> tuple[float, list[float]]:
        synchronise(device)
        start = time.perf_counter()
        top1 = accuracies(data, protocol, settings, options.device)
        return time.perf_counter() - start, top1

    few = [Setting(shots, 0) for shots in SHOTS if shots <= options.rows // options.classes]
    print("| protocol | one (domain, seed), s | top-1 | its few-shot settings, s | their mean top-1 | a model, min |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for protocol in (COG_V2_PRUNED, COG_V2):
        seconds(protocol, few[:1])  # compiles the kernels
        start = time.perf_counter()
        Trainer.load(data[0], data[1], options.classes, protocol, device=device, dtype=torch.float16)
        synchronise(device)
        loading = time.perf_counter() - start
        whole, top1 = seconds(protocol, [Setting(None, 0)])
        short, tops = seconds(protocol, few)
        model = DOMAINS * SEEDS * (whole + short - 2 * loading) + DOMAINS * loading
        print(
            f"| {protocol.name} | {whole - loading:.1f} | {top1[0]:.2f} | {short - loading:.1f} | {mean(tops):.2f} | "
            f"{model / 60:.1f} |", flush=True,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=default_device().type)
    parser.add_argument("--features", nargs="+", type=Path, default=[])
    parser.add_argument("--demo", nargs="+", default=[])
    parser.add_argument("--shots", nargs="+", type=lambda text: None if text == "all" else int(text), default=[None])
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument(
        "--cuts", nargs="+", default=[], help="epochs:remaining trials, instead of those of the protocol"
    )
    parser.add_argument("--true-size", action="store_true")
    parser.add_argument("--rows", type=int, default=1_100_000)
    parser.add_argument("--dimension", type=int, default=2048)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--noise", type=float, default=12.0)
    options = parser.parse_args()
    options.cuts = cut(options.cuts)
    print(f"{describe(torch.device(options.device))}\n", flush=True)
    if options.features or options.demo:
        differences(options)
    if options.true_size:
        true_size(options)


if __name__ == "__main__":
    main()
