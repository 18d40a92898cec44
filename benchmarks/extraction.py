"""How fast features are extracted, against the loop that everybody writes, on the same images in the same run.

    .venv/bin/python benchmarks/extraction.py --count 1000 --workers 2                                # decoding alone
    .venv/bin/python benchmarks/extraction.py --backbone timm:resnet50 --device cuda --workers 16 --count 50000
    .venv/bin/python benchmarks/extraction.py --images FOLDER           # a folder per class, in place of what is made

The plain loop is that of the public ImageNet-CoG code: PIL, torchvision's transforms down to normalised numbers in the
workers, batches of 128, the backbone, features to the host after every batch. Images are JPEGs of 500 × 375 pixels with
the spectrum of photographs. Without a backbone, a few pixels are the features, so that decoding is the limit.

The three ways take turns, each several times, and the least time of each counts: wall-clock, and the processor time of
all processes together, which is the fairer measure where others use the machine too.
"""

import argparse
import io
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from machine import describe, timed
from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import load_backbone
from unseen.features.extract import extract
from unseen.features.forward import features, products
from unseen.features.progress import Progress
from unseen.features.settings import Precision, Settings
from unseen.features.store import read_store
from unseen.images.decode import decode
from unseen.images.folder import FileImages, folder_images
from unseen.images.manifest import whole
from unseen.images.transform import Transform

DISTINCT = 64  # photographs that are made; more files are copies of these
BATCH = 128


class Glance(nn.Module):
    """A pixel in a thousand: next to no work."""

    def forward(self, images: Tensor) -> Tensor:
        return images[:, :, ::32, ::32].flatten(1)


@dataclass(frozen=True, eq=False)
class PlainDataset(Dataset[tuple[Tensor, int]]):
    """Files as normalised numbers."""

    source: FileImages
    steps: Callable[[Image.Image], Tensor]

    def __len__(self) -> int:
        return len(self.source.entries)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        with (self.source.root / self.source.entries[number].id).open("rb") as file:
            return self.steps(Image.open(file).convert("RGB")), 0


def photograph(seed: int, width: int = 500, height: int = 375) -> bytes:
    """A JPEG whose amplitudes fall with frequency as photographs' do, about 45 KB."""
    rng = np.random.default_rng(seed)
    layers = []
    for scale in (2, 4, 8, 16, 32, 64, 128):
        coarse = rng.integers(0, 256, (max(2, height // scale), max(2, width // scale), 3), dtype=np.uint8)
        smooth = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
        layers.append(np.asarray(smooth, dtype=np.float64) * scale**0.5)
    whole_picture = np.sum(layers, axis=0)
    pixels = (whole_picture - whole_picture.mean()) / whole_picture.std() * 55 + 120
    file = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=90)
    return file.getvalue()


def write_images(root: Path, count: int) -> FileImages:
    pictures = [photograph(seed) for seed in range(min(count, DISTINCT))]
    (root / "class").mkdir(parents=True)
    for number in range(count):
        (root / "class" / f"{number:07d}.jpg").write_bytes(pictures[number % len(pictures)])
    return folder_images(root)


def plain_steps(transform: Transform) -> transforms.Compose:
    return transforms.Compose([
        transforms.Resize(transform.resize, transforms.InterpolationMode(transform.interpolation)),
        transforms.CenterCrop(transform.size),
        transforms.ToTensor(),
        transforms.Normalize(transform.mean, transform.std),
    ])  # fmt: skip


def plain_loop(source: FileImages, backbone: Backbone, workers: int, device: torch.device) -> NDArray[Any]:
    data = PlainDataset(source, plain_steps(backbone.spec.transform))
    loader = DataLoader(data, batch_size=BATCH, num_workers=workers, pin_memory=device.type == "cuda")
    module = backbone.module.eval().to(device).to(memory_format=torch.contiguous_format)
    found = []
    with torch.no_grad():
        for images, _ in loader:
            found.append(module(images.to(device, non_blocking=True)).cpu())
    return torch.cat(found).numpy()


def synthetic_rate(backbone: Backbone, settings: Settings, device: torch.device) -> float:
    """Images a second of the backbone alone, on a batch that is already on the device."""
    size = backbone.spec.transform.size
    pixels = torch.randint(0, 256, (settings.batch, size, size, 3), dtype=torch.uint8, device=device)
    backbone.module.eval().to(device).to(memory_format=torch.channels_last)
    with torch.inference_mode(), products(settings.precision):
        once = min(timed(lambda: features(backbone, pixels, settings.precision), device) for _ in range(3))
        repeats = max(int(3 / once), 2)
        took = timed(lambda: [features(backbone, pixels, settings.precision) for _ in range(repeats)], device)
    return repeats * settings.batch / took


def breakdown(transform: Transform, images: int = DISTINCT) -> list[tuple[str, float]]:
    """Milliseconds of one core by step of the plain loop's worker, and of our decoding of the same images."""
    files = [photograph(seed) for seed in range(images)]
    resize, crop, to_tensor, normalise = plain_steps(transform).transforms
    opened = [Image.open(io.BytesIO(file)).convert("RGB") for file in files]
    resized = [resize(picture) for picture in opened]
    cropped = [crop(picture) for picture in resized]
    tensors = [to_tensor(picture) for picture in cropped]
    block = np.empty((images, transform.size, transform.size, 3), dtype=np.uint8)

    def ours(fast: bool) -> None:
        for number, file in enumerate(files):
            block[number] = decode(file, transform, fast=fast)

    steps: list[tuple[str, Callable[[], object]]] = [
        ("JPEG", lambda: [Image.open(io.BytesIO(file)).load() for file in files]),
        ("JPEG and convert", lambda: [Image.open(io.BytesIO(file)).convert("RGB") for file in files]),
        ("resize", lambda: [resize(picture) for picture in opened]),
        ("crop", lambda: [crop(picture) for picture in resized]),
        ("to numbers", lambda: [to_tensor(picture) for picture in cropped]),
        ("normalise", lambda: [normalise(tensor) for tensor in tensors]),
        ("collate", lambda: torch.stack(tensors)),
        ("ours, all of it", lambda: ours(fast=False)),
        ("ours, fast", lambda: ours(fast=True)),
    ]
    return [(name, 1000 * min(_process_seconds(step) for _ in range(3)) / images) for name, step in steps]


def _process_seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def relative_difference(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """Largest norm of a row's difference, relative to the row's."""
    gaps = np.linalg.norm(found.astype(np.float64) - expected, axis=1)
    return float((gaps / np.linalg.norm(expected, axis=1)).max())


def chosen_backbone(name: str | None, device: str) -> Backbone:
    if name is not None:
        return load_backbone(name, weights="random", device=device)
    return Backbone(Spec("a pixel in a thousand", "none", "output", "none", 147, 0, Transform()), Glance())


def measured(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a function gives, its seconds, and those of all cores that it used, in worker processes too."""
    start, cores = time.perf_counter(), _core_seconds()
    result = function()
    return result, time.perf_counter() - start, _core_seconds() - cores


def _core_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@dataclass
class Best:
    """The least time of several runs of one way, in seconds."""

    wall: float = float("inf")
    cores: float = float("inf")

    def add(self, wall: float, cores: float) -> None:
        self.wall, self.cores = min(self.wall, wall), min(self.cores, cores)


def compare(source: FileImages, backbone: Backbone, settings: Settings, folder: Path, turns: int) -> None:
    """The plain loop, ours and ours in its fast mode, in turns."""
    device, count = torch.device(settings.device), len(source.entries)
    modes = {"same pixels": settings, "fast": replace(settings, fast=True)}
    plain, ours = Best(), {mode: Best() for mode in modes}
    waited, differ = dict.fromkeys(modes, 1.0), dict.fromkeys(modes, 0.0)
    for turn in range(turns):
        expected, *took = measured(lambda: plain_loop(source, backbone, settings.workers, device))
        plain.add(*took)
        for mode, how in modes.items():
            last: list[Progress] = []
            run = partial(extract, source, whole(source, "all"), "all", [backbone], folder / str(turn), how)
            (store,), *took = measured(partial(run, watch=last.append))
            ours[mode].add(*took)
            waited[mode] = min(waited[mode], last[-1].idle / last[-1].seconds)
            differ[mode] = relative_difference(np.asarray(read_store(store).X), expected)
    for mode, best in ours.items():
        cells = [
            f"{backbone.spec.id}, {settings.precision}, {mode}",
            f"{count / plain.wall:.0f}",
            f"{count / best.wall:.0f}",
            f"{plain.wall / best.wall:.2f}×",
            f"{1000 * plain.cores / count:.2f}",
            f"{1000 * best.cores / count:.2f}",
            f"{plain.cores / best.cores:.2f}×",
            f"{waited[mode]:.0%}",
            f"{differ[mode]:.1e}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", help="its id; random weights. Without one, decoding is the limit")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("half", "single"), help="half on a GPU, else single")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--images", type=Path, help="a folder per class of JPEGs, in place of those that are made")
    parser.add_argument("--turns", type=int, default=3, help="how often each way is measured")
    parser.add_argument("--steps", action="store_true", help="only the time of each step of decoding")
    parser.add_argument("--folder", type=Path, help="where images and features are put for the time; /tmp by default")
    options = parser.parse_args(arguments)
    precision: Precision = options.precision or ("half" if options.device.startswith("cuda") else "single")
    print(describe(torch.device(options.device)), f"{options.workers} workers", sep=", ")
    if options.steps:
        torch.set_num_threads(1)
        print("\n| step | ms an image, one core |\n| --- | ---: |")
        for name, milliseconds in breakdown(Transform()):
            print(f"| {name} | {milliseconds:.2f} |")
        return
    settings = Settings(device=options.device, precision=precision, batch=options.batch, workers=options.workers)
    backbone = chosen_backbone(options.backbone, options.device)
    with TemporaryDirectory(dir=options.folder) as folder:
        made = Path(folder) / "images"
        source = folder_images(options.images) if options.images else write_images(made, options.count)
        print(f"{len(source.entries)} JPEGs, the least of {options.turns} turns\n")
        print(
            "| backbone | plain loop, images/s | unseen | ratio | plain loop, core ms an image | unseen | ratio ",
            end="",
        )
        print("| device waited | features differ by |")
        print(f"| --- {'| ---: ' * 8}|")
        compare(source, backbone, settings, Path(folder) / "features", options.turns)
    alone = synthetic_rate(backbone, settings, torch.device(options.device))
    print(f"\nThe backbone alone, on images that are on the device: {alone:.0f} images/s")


if __name__ == "__main__":
    main()
