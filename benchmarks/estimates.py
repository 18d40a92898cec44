"""Compare the estimate of a study with the time it takes, for several kinds of work and several sizes.

    PYTHONPATH=benchmarks python benchmarks/estimates.py                       # on a GPU if there is one
    PYTHONPATH=benchmarks python benchmarks/estimates.py --only probes tasks

Estimates come from the functions that commands plan with, and the work is done by the functions that commands run.
The goal is a ratio between 2/3 and 3/2 on an idle machine. Features, images and networks are random. A first small
case of each kind, which is not shown, sets up the device, as an estimate does in a command.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import nn

from machine import describe
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import whole
from unseen.data.core.source import ImageSource
from unseen.device import default_device, on_gpu
from unseen.features.extract import extract
from unseen.features.settings import Settings
from unseen.features.speed import extraction_seconds, seconds_per_image
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.timing import step_seconds
from unseen.probes.finetuning.train import finetune, with_head
from unseen.runs.means import Means
from unseen.studies.given import FeatureFiles, Given
from unseen.studies.stages import open_study
from unseen.studies.study import Study
from unseen.studies.toml import find_study
from unseen.studies.watch import Silent


@dataclass(frozen=True)
class Case:
    """Something to do: what it is, the seconds announced, and what does it."""

    what: str
    announce: Callable[[], float]
    work: Callable[[], object]


def done(work: Callable[..., Iterator[object]], *arguments: object) -> None:
    """Let some work run to its end."""
    for _ in work(*arguments):
        pass


def save(folder: Path, name: str, rows: int, dimension: int, classes: int, seed: int) -> Path:
    """Features of classes about random centres, half of the samples among others."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((classes, dimension), dtype=np.float32)
    y = np.arange(rows) % classes
    X = centres[y] + 2.4 * rng.standard_normal((rows, dimension), dtype=np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{name}.npz", X=X.astype(np.float16), y=y)
    return folder / f"{name}.npz"


def study_case(what: str, study: Study, features: Path | FeatureFiles, out: Path, means: Means) -> Case:
    """The jobs of a study of features."""
    [stage] = open_study(study, Given(features=features), means, Silent()).stages
    prepared = stage.prepare(out, means, Silent())
    jobs = prepared.cells.jobs
    return Case(what, partial(prepared.cells.seconds, jobs), partial(done, prepared.work, jobs))


def probes(out: Path, means: Means, quick: bool) -> Iterator[Case]:
    """Regressions with all samples and few, and other probes."""
    gpu = on_gpu()
    sizes = (
        [(100_000, 2048, 1000), (200_000, 768, 1000), (50_000, 512, 100)] if gpu else [(2000, 64, 10), (3600, 256, 45)]
    )
    logistic = Study().replace(probes="logistic", logistic={"protocol": "cog-v2" if gpu else "cog-v2-short"})
    studies = {
        "logistic, all samples": logistic.replace(shots="all", seeds=1),
        "logistic, 1 to 16 samples, 2 seeds": logistic.replace(shots=[1, 2, 4, 8, 16], seeds=2),
        "knn, ridge, kmeans": Study().replace(probes=["knn", "ridge", "kmeans"], seeds=1),
    }
    for n, d, c in [(1000, 32, 10), *sizes[: 1 if quick else None]]:
        folder = out / f"probes-{n}-{d}"
        counts = {"train": n, "test": max(n // 20, 2 * c)}
        places = {split: save(folder, split, rows, d, c, i) for i, (split, rows) in enumerate(counts.items(), start=1)}
        files = FeatureFiles("mine", "yours", places)
        for kind, study in studies.items():
            yield study_case(f"{kind}: {n:,} × {d}, {c}", study, files, folder / "run", means)


def tasks(out: Path, means: Means, quick: bool) -> Iterator[Case]:
    """Linear probes and episodes."""
    sizes = (
        [(3680, 2048, 37), (8144, 2048, 196), (50_000, 2048, 100)] if on_gpu() else [(1200, 64, 10), (2000, 256, 20)]
    )
    study = find_study("ericsson-2021").replace(datasets="pets")
    for n, d, c in [(400, 16, 5), *sizes[: 1 if quick else None]]:
        folder = out / f"tasks-{n}-{d}"
        counts = {"train": n * 4 // 5, "val": n // 5, "test": n // 2}
        for seed, (split, rows) in enumerate(counts.items(), start=1):
            save(folder / "features/pets", split, rows, d, c, seed)
        what = f"linear probe and episodes: {n:,} × {d}, {c}"
        yield study_case(what, study, folder / "features", folder / "run", means)


def network(name: str, size: int) -> Backbone:
    """One of torchvision's, with random weights and without its classifier."""
    from torchvision import models

    module = models.get_model(name, weights=None)
    dimension = module.fc.in_features
    module.fc = nn.Identity()
    return Backbone(Spec(f"torchvision:{name}", "random", "penultimate", "avg", dimension, 0, Transform(size)), module)


def announced_extraction(source: ImageSource, backbone: Backbone, settings: Settings) -> float:
    return extraction_seconds(seconds_per_image(source, [backbone], settings), [len(source.entries)], settings)


def extraction(out: Path, means: Means, quick: bool) -> Iterator[Case]:
    """Photographs from files to features."""
    from made_images import write_images

    gpu = on_gpu()
    sizes = (
        [("resnet18", 224, 4000), ("resnet50", 224, 8000)] if gpu else [("resnet18", 64, 200), ("resnet18", 224, 96)]
    )
    for name, size, count in [("resnet18", 32, 16), *sizes[: 1 if quick else None]]:
        source, backbone = write_images(out / f"images-{name}-{size}", count), network(name, size)
        settings = Settings(
            device="cuda" if gpu else "cpu", precision="half" if gpu else "single", workers=means.workers
        )
        manifest = whole(source, "train")
        yield Case(
            f"{name}, {count:,} photographs at {size} pixels, {means.workers} decoders",
            partial(announced_extraction, source, backbone, settings),
            partial(extract, source, manifest, "train", [backbone], out / "features", settings),
        )


def announced_training(backbone: Backbone, batch: int, steps: int) -> float:
    return steps * step_seconds(backbone, batch, default_device())


def train(name: str, size: int, batch: int, steps: int, images: torch.Tensor) -> None:
    backbone = network(name, size)
    model = with_head(backbone.module, backbone.spec.dimension, 10, seed=0)
    protocol = FinetuneProtocol("timed", steps, batch, rate=1e-3, decay=1e-4)
    torch.set_num_threads(1)
    labels = torch.arange(batch) % 10
    finetune(model, lambda _: repeat((images, labels)), protocol, device=images.device, every=steps)


def finetuning(out: Path, means: Means, quick: bool) -> Iterator[Case]:
    """Steps of training, images in memory."""
    device = default_device()
    gpu = device.type == "cuda"
    sizes = (
        [("resnet18", 128, 64, 1000), ("resnet50", 224, 64, 400)]
        if gpu
        else [("resnet18", 32, 16, 20), ("resnet18", 96, 16, 10)]
    )
    for name, size, batch, steps in [("resnet18", 32, 8, 4), *sizes[: 1 if quick else None]]:
        backbone = network(name, size)
        images = torch.randn(batch, size, size, 3, device=device).permute(0, 3, 1, 2)
        yield Case(
            f"{name}, {steps} steps of {batch} images at {size} pixels",
            partial(announced_training, backbone, batch, steps),
            partial(train, name, size, batch, steps, images),
        )


KINDS = {"probes": probes, "tasks": tasks, "extraction": extraction, "finetuning": finetuning}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--workers", type=int, default=16 if on_gpu() else 1)
    parser.add_argument("--quick", action="store_true", help="one size of each kind")
    options = parser.parse_args()
    means = Means(options.workers, gpu=on_gpu())
    print(f"{describe(default_device())}; {options.workers} workers\n")
    print("| what | announced, s | took, s | ratio | announcing, s |\n| --- | ---: | ---: | ---: | ---: |", flush=True)
    with TemporaryDirectory() as folder:
        for kind in options.only:
            first = None
            for case in KINDS[kind](Path(folder), means, options.quick):
                first = first or case.what.rpartition(":")[2]
                start = time.perf_counter()
                announced = case.announce()
                begun = time.perf_counter()
                case.work()
                took = time.perf_counter() - begun
                if case.what.rpartition(":")[2] == first:
                    continue  # the device was set up
                shown = f"{announced:.2f} | {took:.2f} | {announced / took:.2f} | {begun - start:.2f}"
                print(f"| {case.what} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
