"""Small test sets in the layouts of the true ones."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

SYNSETS = ("n01440764", "n01443537", "n02708093", "n03196217", "n07753592")
"""Tench, goldfish, analog clock, digital clock, banana: classes 0, 1, 409, 530 and 954 of ImageNet-1K."""


def photograph(path: Path, seed: int, size: tuple[int, int] = (40, 34)) -> None:
    """A file in the format of its suffix, which must be in the place of a true one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, "PNG" if path.suffix == ".png" else "JPEG", quality=90)


def folders(root: Path, names: Iterable[str], images: int = 2, suffix: str = ".JPEG", prefix: str = "") -> Path:
    for place, name in enumerate(names):
        for number in range(images):
            photograph(root / name / f"{prefix}{name}_{number}{suffix}", 100 * place + number)
    return root


def objectnet(root: Path) -> Path:
    """Two objects that ImageNet has, one of them as either of two classes, and one that it has not."""
    place = root / "objectnet-1.0"
    for number, folder in enumerate(("alarm_clock", "banana", "air_freshener")):
        picture = Image.new("RGB", (30, 20), (255, 0, 0))
        inner = np.random.default_rng(number).integers(0, 200, (16, 26, 3), dtype=np.uint8)
        picture.paste(Image.fromarray(inner), (2, 2))
        (place / "images" / folder).mkdir(parents=True)
        picture.save(place / "images" / folder / f"{folder}a1.png")
    (place / "mappings").mkdir()
    objects = {"alarm_clock": "Alarm clock", "banana": "Banana", "air_freshener": "Air freshener"}
    to_imagenet = {"Alarm clock": "analog clock; digital clock", "Banana": "banana"}
    (place / "mappings/folder_to_objectnet_label.json").write_text(json.dumps(objects))
    (place / "mappings/objectnet_to_imagenet_1k.json").write_text(json.dumps(to_imagenet))
    return place


def cifar_arrays(images: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (images, 32, 32, 3), dtype=np.uint8), np.arange(images, dtype=np.int32) % 10
