"""JPEGs with the spectrum of photographs, in folders or in tar files, for the benchmarks of extraction."""

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from unseen.data.core.folder import FileImages, folder_images
from unseen.data.core.tars.imagenet_tars import imagenet_tars
from unseen.data.core.tars.tar_images import TarImages

Source = FileImages | TarImages
DISTINCT = 64
"""Photographs that are made; more files are copies of these."""


def photograph(seed: int, width: int = 500, height: int = 375) -> bytes:
    """A JPEG of about 45 KB with the spectrum of photographs."""
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


def photographs(count: int, mixed: bool) -> list[bytes]:
    """Photographs of 500 × 375 pixels, or mixed: of sizes such as ImageNet's, upright and lying."""
    sides = np.random.default_rng(0).integers(200, 501, count) if mixed else np.full(count, 375)
    sizes = [(500, int(side)) if not mixed or number % 3 else (int(side), 500) for number, side in enumerate(sides)]
    return [photograph(seed, *size) for seed, size in enumerate(sizes)]


def write_images(root: Path, count: int, *, tar: bool = False, mixed: bool = False) -> Source:
    """Write images to folders, or to a tar file of tar files; `DISTINCT` images are different, the rest are copies."""
    pictures = photographs(min(count, DISTINCT), mixed)
    names = [f"n{number:08d}" for number in range(1, 11)]
    classes = {name: range(number, count, 10) for number, name in enumerate(names)}
    if tar:
        inner = {f"{name}.tar": tar_of(name, numbers, pictures) for name, numbers in classes.items()}
        root.mkdir(parents=True)
        with tarfile.open(root / "all.tar", "w") as outer:
            for name, content in inner.items():
                add(outer, name, content)
        return imagenet_tars(root / "all.tar")
    for name, numbers in classes.items():
        (root / name).mkdir(parents=True)
        for number in numbers:
            (root / name / f"{name}_{number}.JPEG").write_bytes(pictures[number % len(pictures)])
    return folder_images(root)


def tar_of(name: str, numbers: Sequence[int], pictures: Sequence[bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in numbers:
            add(archive, f"{name}_{number}.JPEG", pictures[number % len(pictures)])
    return buffer.getvalue()


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
