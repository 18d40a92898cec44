"""Speed of feature extraction compared with a plain DataLoader loop, on the same images in the same run.

    .venv/bin/python benchmarks/extraction.py --count 1000 --workers 2                                # decoding only
    .venv/bin/python benchmarks/extraction.py --backbone timm:resnet50 --device cuda --workers 16 --count 50000
    .venv/bin/python benchmarks/extraction.py --images FOLDER           # your own images, one folder per class
    .venv/bin/python benchmarks/extraction.py --tar --mixed …           # in a tar file of tar files; of many sizes

The plain loop is that of the public ImageNet-CoG code: PIL and torchvision's transforms in the workers, batches of
128, the backbone, and features copied to the host after every batch. Images are JPEGs of 500 × 375 pixels with the
spectrum of photographs. Without a backbone, a few pixels are the features, so that decoding is the limit.

All variants take turns, several times each, and the shortest time of each counts: wall-clock time, and CPU time of
all processes, which is the fairer measure on a shared machine. On a GPU there is one more variant, in which the GPU
decodes. Host memory is that of all processes, after a quarter of the images and at the end.
"""

import argparse
import io
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from machine import describe, timed
from made_images import DISTINCT, Source, photograph, write_images
from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import load_backbone
from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.folder import folder_images
from unseen.data.core.manifest import whole
from unseen.features.extract import extract
from unseen.features.forward import features, products
from unseen.features.progress import Progress
from unseen.features.settings import Precision, Settings
from unseen.features.store import read_store

if TYPE_CHECKING:
    from torchvision.transforms import Compose

BATCH = 128


class Glance(nn.Module):
    """A pixel in a thousand: next to no work."""

    def forward(self, images: Tensor) -> Tensor:
        return images[:, :, ::32, ::32].flatten(1)


@dataclass(frozen=True, eq=False)
class PlainDataset(Dataset[tuple[Tensor, int]]):
    """Files as normalised numbers."""

    source: Source
    steps: Callable[[Image.Image], Tensor]

    def __len__(self) -> int:
        return len(self.source.entries)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        return self.steps(Image.open(io.BytesIO(self.source.read(number))).convert("RGB")), 0


def plain_steps(transform: Transform) -> "Compose":
    from torchvision import transforms

    return transforms.Compose([
        transforms.Resize(transform.resize, transforms.InterpolationMode(transform.interpolation)),
        transforms.CenterCrop(transform.size),
        transforms.ToTensor(),
        transforms.Normalize(transform.mean, transform.std),
    ])  # fmt: skip


def plain_loop(source: Source, backbone: Backbone, workers: int, device: torch.device) -> NDArray[Any]:
    data = PlainDataset(source, plain_steps(backbone.spec.transform))
    loader = DataLoader(data, batch_size=BATCH, num_workers=workers, pin_memory=device.type == "cuda")
    module = backbone.module.eval().to(device).to(memory_format=torch.contiguous_format)
    found = []
    with torch.no_grad():
        for images, _ in loader:
            found.append(module(images.to(device, non_blocking=True)).cpu())
    return torch.cat(found).numpy()


def synthetic_rate(backbone: Backbone, settings: Settings, device: torch.device) -> float:
    """Images per second of the backbone alone, on a batch that is already on the device."""
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
    """The result of a function, its wall-clock seconds, and CPU seconds including worker processes."""
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


class Watch:
    """Follows an extraction, with the memory of all its processes."""

    def __init__(self) -> None:
        self.last, self.quarter, self.end = Progress(0, 1, 1.0, 0.0), 0, 0
        self.first, self.since = 0.0, (0, 0.0)

    def __call__(self, progress: Progress) -> None:
        self.first = self.first or progress.seconds
        if self.last.done < progress.total / 4 <= progress.done:
            self.quarter, self.since = host_bytes(), (progress.done, progress.seconds)
        if self.last.done < 0.95 * progress.total <= progress.done:
            self.end = host_bytes()
        self.last = progress

    @property
    def steady(self) -> float:
        """Images per second after the first quarter."""
        return (self.last.done - self.since[0]) / max(self.last.seconds - self.since[1], 1e-9)


def host_bytes() -> int:
    """Of this process and those that decode for it; pages that they share are counted once."""
    total = 0
    for process in [os.getpid(), *(child.pid for child in multiprocessing.active_children())]:
        with suppress(OSError):
            pages = [int(number) for number in Path(f"/proc/{process}/statm").read_text().split()]
            total += os.sysconf("SC_PAGE_SIZE") * (pages[1] - (pages[2] if process != os.getpid() else 0))
    return total


def gpu_alone(source: Source, backbone: Backbone, settings: Settings, folder: Path) -> None:
    """Only the way in which a GPU decodes, once."""
    watch = Watch()
    extract(source, whole(source, "all"), "all", [backbone], folder, settings, watch=watch)
    print(
        f"--decode gpu, {watch.last.done} images: {watch.last.rate:.0f} images/s in all, first batch after "
        f"{watch.first:.2f} s, then {watch.steady:.0f} images/s; the device waited {watch.last.idle:.2f} s of "
        f"{watch.last.seconds:.2f}; host memory {watch.quarter / 1e9:.2f} GB, at the end {watch.end / 1e9:.2f}",
        flush=True,
    )


def compare(
    source: Source, backbone: Backbone, settings: Settings, folder: Path, turns: int, *, only_gpu: bool = False
) -> None:
    """The plain loop and the ways that we have, in turns."""
    device, count = torch.device(settings.device), len(source.entries)
    modes = {"same pixels": settings, "--fast --decode cpu": replace(settings, fast=True)}
    if device.type == "cuda":
        modes["--decode gpu"] = replace(settings, decode="gpu")
    if only_gpu:
        gpu_alone(source, backbone, modes["--decode gpu"], folder)
        return
    plain, ours = Best(), {mode: Best() for mode in modes}
    waited, differ, memory = dict.fromkeys(modes, 1.0), dict.fromkeys(modes, 0.0), dict.fromkeys(modes, "")
    start = dict.fromkeys(modes, "")
    for turn in range(turns):
        expected, *took = measured(lambda: plain_loop(source, backbone, settings.workers, device))
        plain.add(*took)
        for mode, how in modes.items():
            watch = Watch()
            run = partial(extract, source, whole(source, "all"), "all", [backbone], folder / str(turn), how)
            (store,), *took = measured(partial(run, watch=watch))
            ours[mode].add(*took)
            waited[mode] = min(waited[mode], watch.last.idle / watch.last.seconds)
            memory[mode] = f"{watch.quarter / 1e9:.1f} / {watch.end / 1e9:.1f}"
            start[mode] = f"{watch.first:.1f} s, {watch.steady:.0f}"
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
            memory[mode],
            start[mode],
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", help="id of a backbone, with random weights; without one, decoding is the limit")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("half", "single"), help="half on a GPU, else single")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--images", type=Path, help="JPEGs, one folder per class, instead of synthetic ones")
    parser.add_argument("--tar", action="store_true", help="images in a tar file of tar files")
    parser.add_argument("--mixed", action="store_true", help="images of many sizes")
    parser.add_argument("--only-gpu", action="store_true", help="run only the variant in which a GPU decodes, once")
    parser.add_argument("--turns", type=int, default=3, help="measurements of each variant")
    parser.add_argument("--steps", action="store_true", help="only time the steps of decoding")
    parser.add_argument("--folder", type=Path, help="folder for temporary images and features; /tmp by default")
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
        source: Source = (
            folder_images(options.images)
            if options.images
            else write_images(made, options.count, tar=options.tar, mixed=options.mixed)
        )
        print(f"{len(source.entries)} JPEGs, the least of {options.turns} turns\n")
        print(
            "| backbone | plain loop, images/s | unseen | ratio | plain loop, core ms an image | unseen | ratio ",
            end="",
        )
        print("| device waited | features differ by | host memory, GB | first batch after, then images/s |")
        print(f"| --- {'| ---: ' * 10}|")
        compare(source, backbone, settings, Path(folder) / "features", options.turns, only_gpu=options.only_gpu)
    alone = synthetic_rate(backbone, settings, torch.device(options.device))
    print(f"\nThe backbone alone, on images that are on the device: {alone:.0f} images/s")


if __name__ == "__main__":
    main()
