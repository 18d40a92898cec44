"""The effect of rounds of ten trials and of 16-bit products on the final accuracy.

    .venv/bin/python benchmarks/rounds.py --device cuda [--features TRAIN.npz TEST.npz] [--seeds 100]

The reference is `cog-v2` as published: one trial at a time in float32. Each variant uses the same seeds, so that
differences are paired; the reference with other seeds shows the variation between seeds.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from torch import Tensor

from machine import describe
from unseen.probes.logistic import Setting, probe_settings
from unseen.probes.protocol import COG_V2, LogisticProtocol

VARIANTS: dict[str, tuple[LogisticProtocol, torch.dtype]] = {
    "one at a time, 32 bits (published)": (COG_V2.sequential, torch.float32),
    "one at a time, 16 bits": (COG_V2.sequential, torch.float16),
    "rounds of 10, 32 bits": (COG_V2, torch.float32),
    "rounds of 10, 16 bits": (COG_V2, torch.float16),
}


def mixture(classes: int, train: int, test: int, d: int, noise: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Classes of two modes each in a space of decaying spectrum, through a rectifier, as penultimate features are."""
    generator = torch.Generator().manual_seed(0)
    spectrum = (1 + torch.arange(d)) ** -0.5
    modes = torch.randn(2, classes, d, generator=generator) * spectrum
    parts = []
    for each in (train, test):
        y = torch.arange(classes).repeat(each)
        which = torch.randint(2, (len(y),), generator=generator)
        X = modes[which, y] + noise * torch.randn(len(y), d, generator=generator) * spectrum
        parts += [torch.relu(X) + 1e-4, y]
    return parts[0], parts[1], parts[2], parts[3]


def features(train: Path, test: Path) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    arrays = [np.load(path, allow_pickle=False) for path in (train, test)]
    X, y, X_test, y_test = (torch.from_numpy(array[name]) for array in arrays for name in ("X", "y"))
    return X.float(), y, X_test.float(), y_test


def accuracy(
    data: tuple[Tensor, Tensor, Tensor, Tensor], variant: str, seeds: range, shots: int | None, device: str
) -> list[float]:
    """Final top-1 in percent of each seed."""
    protocol, products = VARIANTS[variant]
    settings = [Setting(shots, seed) for seed in seeds]
    found = dict(probe_settings(*data, settings, protocol=protocol, device=device, products=products))
    return [100 * found[setting].top1 for setting in settings]


def compare(
    name: str, data: tuple[Tensor, Tensor, Tensor, Tensor], seeds: int, shots: int | None, device: str, brief: bool
) -> None:
    published, *variants = VARIANTS
    reference = accuracy(data, published, range(seeds), shots, device)
    print(f"\n{name}: {seeds} seeds, deviation over seeds {stdev(reference):.2f}\n")
    print("| variant | top-1 | difference, same seeds | standard error |")
    print("| --- | ---: | ---: | ---: |")
    print(f"| {published} | {mean(reference):.3f} | | |", flush=True)
    if not brief:
        others = accuracy(data, published, range(seeds, 2 * seeds), shots, device)
        error = math.hypot(stdev(reference), stdev(others)) / math.sqrt(seeds)
        print(f"| the same, other seeds | {mean(others):.3f} | {mean(others) - mean(reference):+.3f} | {error:.3f} |")
    for variant in variants[1:] if brief else variants:
        found = accuracy(data, variant, range(seeds), shots, device)
        gaps = [a - b for a, b in zip(found, reference, strict=True)]
        error = stdev(gaps) / math.sqrt(seeds)
        print(f"| {variant} | {mean(found):.3f} | {mean(gaps):+.3f} | {error:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--features", type=Path, nargs=2)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--shots", type=int)
    parser.add_argument("--noise", type=float, default=2.5)
    parser.add_argument("--brief", action="store_true", help="rounds of 10 only")
    parser.add_argument("--epochs", type=int, default=COG_V2.epochs)
    options = parser.parse_args()
    for name, (protocol, products) in VARIANTS.items():
        VARIANTS[name] = replace(protocol, epochs=options.epochs), products
    print(describe(torch.device(options.device)))
    if options.features:
        data = features(*options.features)
        name = f"features, {int(data[1].max()) + 1} classes, {len(data[0])} × {data[0].shape[1]}"
    else:
        data, name = mixture(100, 200, 100, 256, options.noise), "mixture, 100 classes × 200 × 256"
    compare(name, data, options.seeds, options.shots, options.device, options.brief)


if __name__ == "__main__":
    main()
