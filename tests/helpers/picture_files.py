"""Small images and archives for the tests, in the true formats."""

import io
import tarfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image


def picture(seed: int = 0, width: int = 12, height: int = 10, mode: str = "RGB") -> Image.Image:
    """Smooth colours with some noise, so that resampling has something to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(width, height)
    waves = [np.sin(9 * x * rng.random() + 7 * y * rng.random() + seed) for _ in range(3)]
    pixels = 127 + 90 * np.stack(waves, axis=-1) + rng.normal(0, 12, (height, width, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).convert(mode)


def encoded(image: Image.Image, format_: str = "JPEG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def jpeg(seed: int = 0) -> bytes:
    return encoded(picture(seed))


def tar_of(files: Mapping[str, bytes], format_: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format_) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def tar_with(member: tarfile.TarInfo) -> bytes:
    """An archive of one member that has no content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(member)
    return buffer.getvalue()
