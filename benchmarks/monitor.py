"""Seconds that a check of `unseen.Monitor` takes from a training, beside a plain loop that measures the same.

    PYTHONPATH=src python benchmarks/monitor.py --device cuda
    PYTHONPATH=src python benchmarks/monitor.py --images 200 --size 32 --classes 4    # a try on a CPU

Generated photographs (JPEG, 8,000 for training and 2,000 for testing, 100 classes) are measured with nearest neighbours
and the linear probe, by a ViT-S with random weights, of timm if that can be imported. Every check is timed with the
device synchronised, and the network is trained for a few steps before it, so that its features change. NumPy, SciPy,
PyTorch and Pillow are enough to run it.

The plain loop is what one writes without a library: a DataLoader decodes and resizes every image at every check, the
features are those of a forward pass under autocast, neighbours come from one product and `topk`, and the linear probe
from `torch.optim.LBFGS` for each of the same 45 penalties, warm-started, chosen on the same share of validation images
and fitted again to all. Beside it is a loop that keeps the decoded images in memory.
"""

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils import data as loading
from torch.utils.data import DataLoader

import absent_packages
from machine import describe, timed

absent_packages.replace()  # before the package is imported
import unseen  # noqa: E402
from unseen.data.core.dataset import Dataset  # noqa: E402
from unseen.data.core.decoding.transform import IMAGENET_MEAN, IMAGENET_STD  # noqa: E402
from unseen.data.core.manifest import Manifest  # noqa: E402
from unseen.data.core.open_dataset import OpenDataset  # noqa: E402
from unseen.data.core.source import Entry  # noqa: E402
from unseen.probes.many_shot import task_protocol  # noqa: E402

TEST_SHARE, VALIDATION_SHARE = 0.2, 0.2
NEIGHBOURS = 20


class Block(nn.Module):
    """A block of a ViT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        b, n, width = tokens.shape
        q, k, v = self.qkv(self.norm1(tokens)).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, width)
        tokens = tokens + self.out(seen)
        found: Tensor = tokens + self.mlp(self.norm2(tokens))
        return found


class ViT(nn.Module):
    """ViT-S/16: 12 blocks of width 384 with 6 heads, and its class token as features (22 million parameters)."""

    def __init__(self, size: int, width: int = 384, depth: int = 12, heads: int = 6, patch: int = 16) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.place = nn.Parameter(0.02 * torch.randn(1, 1 + (size // patch) ** 2, width))
        self.blocks, self.norm = nn.Sequential(*(Block(width, heads) for _ in range(depth))), nn.LayerNorm(width)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.embed(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(len(images), -1, -1), patches], dim=1) + self.place
        found: Tensor = self.norm(self.blocks(tokens))[:, 0]
        return found


def network(size: int) -> tuple[nn.Module, str]:
    """A ViT-S with random weights: timm's if it can be imported, otherwise one with the same multiplications."""
    try:
        import timm
    except ImportError as error:
        return ViT(size), f"ViT-S/16 of this file (timm cannot be imported: {error})"
    made: nn.Module = timm.create_model("vit_small_patch16_224", img_size=size, num_classes=0)
    return made, "vit_small_patch16_224 of timm"


def picture(number: int, label: int, size: int) -> bytes:
    """A JPEG of 1.25 times the size, with a pattern of its class under smooth noise."""
    side = size * 5 // 4
    pattern = np.random.default_rng(label).normal(0, 25, (6, 6, 3))
    rng = np.random.default_rng([1, number])
    coarse = 120 + pattern + rng.normal(0, 45, (6, 6, 3))
    image = Image.fromarray(coarse.clip(0, 255).astype(np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
    noise = Image.fromarray(rng.integers(0, 256, (side // 4, side // 4, 3), dtype=np.uint8)).resize((side, side))
    file = io.BytesIO()
    Image.blend(image, noise, 0.15).save(file, "JPEG", quality=90)
    return file.getvalue()


def write_pictures(root: Path, images: int, classes: int, size: int) -> dict[str, list[tuple[Path, int]]]:
    """The images in folders by split and class; returns the path and the class of each."""
    places: dict[str, list[tuple[Path, int]]] = {"train": [], "test": []}
    test = round(TEST_SHARE * images)
    for number in range(images):
        split, label = "test" if number < test else "train", number % classes
        places[split].append((root / split / f"{label:03d}" / f"{number}.jpg", label))
    for path in {path.parent for of in places.values() for path, _ in of}:
        path.mkdir(parents=True)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        jobs = [
            threads.submit(lambda path, label: path.write_bytes(picture(int(path.stem), label, size)), path, label)
            for of in places.values()
            for path, label in of
        ]
        for job in jobs:
            job.result()
    return places


class Decoded(loading.Dataset[tuple[Tensor, int]]):
    """Images as a plain loop reads them: bytes of the resized image, for the same pixels."""

    def __init__(self, places: Sequence[tuple[Path, int]], size: int) -> None:
        self.places, self.size = places, size

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        path, label = self.places[number]
        image = Image.open(path).convert("RGB").resize((self.size, self.size), Image.Resampling.BICUBIC)
        return torch.from_numpy(np.array(image)), label


Batches = Callable[[str], Iterator[tuple[Tensor, Tensor]]]


def plain_features(net: nn.Module, batches: Batches, split: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """Features and labels of a split."""
    mean, std = (torch.tensor(values, device=device).view(1, 3, 1, 1) for values in (IMAGENET_MEAN, IMAGENET_STD))
    rows, labels = [], []
    net.eval()
    with torch.inference_mode(), torch.autocast(device.type, torch.float16, enabled=device.type == "cuda"):
        for pixels, y in batches(split):
            images = pixels.to(device, non_blocking=True).permute(0, 3, 1, 2).float().div_(255).sub_(mean).div_(std)
            rows.append(net(images).float())
            labels.append(y)
    net.train()
    return torch.cat(rows).clone(), torch.cat(labels).to(device)


def plain_knn(X: Tensor, y: Tensor, X_test: Tensor, y_test: Tensor) -> float:
    """Top-1 accuracy of 20 neighbours by cosine similarity, weighted by exp(similarity / 0.07)."""
    X, X_test = nn.functional.normalize(X), nn.functional.normalize(X_test)
    found = (X_test @ X.T).topk(NEIGHBOURS)
    votes = torch.zeros(len(X_test), int(y.max()) + 1, device=X.device)
    votes.scatter_add_(1, y[found.indices], (found.values / 0.07).exp())
    return float((votes.argmax(1) == y_test).float().mean())


def plain_logistic(X: Tensor, y: Tensor, penalty: float, weights: Tensor) -> Tensor:
    """Logistic regression with an ℓ2 penalty by L-BFGS; (d + 1, c) weights, from those given."""
    W = weights.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([W], max_iter=100, tolerance_grad=1e-5, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(X @ W[:-1] + W[-1], y, reduction="sum") + 0.5 * penalty * (W[:-1] ** 2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    return W.detach()


def plain_linear(X: Tensor, y: Tensor, X_test: Tensor, y_test: Tensor, penalties: Sequence[float]) -> float:
    """Top-1 accuracy with the penalty that is best on a fifth of the training images."""
    classes = int(y.max()) + 1
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0)).to(X.device)
    held, kept = order[: round(VALIDATION_SHARE * len(y))], order[round(VALIDATION_SHARE * len(y)) :]
    W, best = torch.zeros(X.shape[1] + 1, classes, device=X.device), (-1.0, 0.0)
    for penalty in sorted(penalties, reverse=True):
        W = plain_logistic(X[kept], y[kept], penalty, W)
        hits = float(((X[held] @ W[:-1] + W[-1]).argmax(1) == y[held]).float().mean())
        best = max(best, (hits, penalty))
    W = plain_logistic(X, y, best[1], torch.zeros_like(W))
    return float(((X_test @ W[:-1] + W[-1]).argmax(1) == y_test).float().mean())


def in_memory(loaders: dict[str, DataLoader[tuple[Tensor, int]]]) -> Batches:
    """The same batches, decoded once."""
    kept = {split: [*loader] for split, loader in loaders.items()}
    return lambda split: iter(kept[split])


def train(net: nn.Module, size: int, device: torch.device, steps: int = 3) -> None:
    """A few steps towards random targets, so that the features of every check are others."""
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-5)
    for _ in range(steps):
        output = net(torch.randn(32, 3, size, size, device=device))
        loss = (output - torch.randn_like(output)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@dataclass(frozen=True, eq=False)
class Files:
    """Image files as a source of a data set."""

    paths: Sequence[Path]
    entries: Sequence[Entry]
    about: dict[str, str] = field(default_factory=dict)

    def read(self, number: int) -> bytes:
        return self.paths[number].read_bytes()


def opened(places: dict[str, list[tuple[Path, int]]], classes: int) -> OpenDataset:
    """The images as a data set; a fifth of the training images, evenly spread, are for validation."""
    every = [(path, f"{label:03d}", split) for split, of in places.items() for path, label in of]
    entries = [Entry(path.name, label) for path, label, _ in every]
    among = {path: number // classes for number, (path, _) in enumerate(places["train"])}
    splits = ["val" if among.get(path, 1) % round(1 / VALIDATION_SHARE) == 0 else split for path, _, split in every]
    dataset = Dataset("pictures", "generated pictures", classes, test="author", validation="author")
    return OpenDataset(dataset, Files([path for path, _, _ in every], entries), Manifest(entries, splits))


def measure_monitor(
    net: nn.Module, data: OpenDataset, out: Path, options: argparse.Namespace, device: torch.device
) -> float:
    """Print the seconds of every check, and return the median of those after the first."""
    study = unseen.study("ericsson-2021", probes=["knn", "linear"], shots="all", seeds=1)
    monitor = unseen.Monitor(study, every=1, out=out, data=data, transform=options.size, workers=options.workers)
    print("| check | features (s) | probes (s) | together (s) | kNN | linear |")
    print("| --- | --- | --- | --- | --- | --- |")
    together = []
    for number in range(options.checks):
        train(net, options.size, device)
        together.append(timed(partial(monitor, number, net), device))
        check = monitor.checks[number]
        for failure in check.failures:
            print(failure.sentence)
        scores = [f"{value:.4f}" for name, value in check.means.items() if name.endswith("top1")]
        row = [check.extraction, together[-1] - check.extraction, together[-1]]
        label = "monitor, first" if number == 0 else "monitor, later"
        print(f"| {label} | {' | '.join(f'{each:.2f}' for each in row)} | {' | '.join(scores)} |", flush=True)
    fits = {each.probe: each.seconds for each in monitor.checks[options.checks - 1].scores}
    print("Last fits: " + ", ".join(f"{name} {value:.2f} s" for name, value in fits.items()) + "\n")
    return float(np.median(together[1:] or together))


def measure_plain(net: nn.Module, title: str, batches: Batches, device: torch.device) -> float:
    """Print the seconds of a plain loop, and return their sum."""
    data: list[Tensor] = []
    values: list[float] = []

    def extract() -> None:
        for split in ("train", "test"):
            data.extend(plain_features(net, batches, split, device))

    def linear() -> None:
        X, y, X_test, y_test = data
        values.append(plain_linear(X, y, X_test, y_test, task_protocol("ericsson-2021", None).penalties.tolist()))

    def neighbours() -> None:
        X, y, X_test, y_test = data
        values.append(plain_knn(X, y, X_test, y_test))

    took = [timed(act, device) for act in (extract, neighbours, linear)]
    times = " | ".join(f"{each:.2f}" for each in (*took, sum(took)))
    print(f"| {title} | {times} | {' | '.join(f'{each:.4f}' for each in values)} |", flush=True)
    return sum(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--checks", type=int, default=3)
    parser.add_argument("--workers", type=int, default=min(16, os.cpu_count() or 1))
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.manual_seed(0)
    net, name = network(options.size)
    net = net.to(device).train()
    print(describe(device))
    print(f"{name}; {options.images:,} images of {options.size} pixels, {options.classes} classes")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        started = time.perf_counter()
        places = write_pictures(root / "pictures", options.images, options.classes, options.size)
        print(f"images written in {time.perf_counter() - started:.1f} s\n")
        later = measure_monitor(net, opened(places, options.classes), root / "monitor", options, device)
        pinned = device.type == "cuda"
        loaders = {
            split: DataLoader(Decoded(of, options.size), 128, num_workers=options.workers, pin_memory=pinned)
            for split, of in places.items()
        }
        print("| plain loop | features (s) | kNN (s) | linear (s) | together (s) | kNN | linear |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        every_time = measure_plain(net, "decodes every time", lambda split: iter(loaders[split]), device)
        once = measure_plain(net, "decoded once", in_memory(loaders), device)
        print(f"\nA later check took {later:.2f} s; the aim is below 10 s.")
        print(f"Plain loop over it: {every_time / later:.1f} (decodes every time), {once / later:.1f} (decoded once).")


if __name__ == "__main__":
    main()
