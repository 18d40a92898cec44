"""Extraction with JPEGs decoded on a device: order, what goes the other way, damage, keys.

Without a GPU, libjpeg stands in for its decoder: then the features are those of PIL, which is the reference.
"""

import ctypes
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from test_extract import SMALL, means, write_images

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.folder import FileImages, folder_images
from unseen.data.core.manifest import whole
from unseen.errors import UserError
from unseen.features import batches
from unseen.features.extract import extract
from unseen.features.gpu import gpu_decode
from unseen.features.gpu.nvjpeg import UndecodableError
from unseen.features.readers import read_features
from unseen.features.settings import Settings, extraction_settings
from unseen.features.speed import seconds_per_image

REFUSED = b"what only the device's decoder refuses"
SETTINGS = Settings(batch=4, workers=0, shard_rows=6, on_error="report")


class Libjpeg:
    """Decodes files to planes; like the GPU's decoder, all of them or none. Keeps how many it was given."""

    hardware = True

    def __init__(self) -> None:
        self.given: list[int] = []

    def __call__(self, files: NDArray[np.uint64], planes: NDArray[np.uint64]) -> None:
        self.given.append(len(files))
        for (start, length), table in zip(files.tolist(), planes.tolist(), strict=True):
            content = ctypes.string_at(start, length)
            if content.endswith(REFUSED):
                raise UndecodableError("not this one")
            try:
                self._write(content, table)
            except OSError as error:
                raise UndecodableError(str(error)) from None

    def _write(self, content: bytes, table: list[int]) -> None:
        picture = Image.open(io.BytesIO(content))
        grey, (width, height) = picture.mode == "L", picture.size
        half = not grey and picture.layer[0][1] == 2  # drawn at half the size, libjpeg has chroma as it is stored
        for plane, scale in ((0, 1),) if grey else ((0, 1), (1, 1 + half), (2, 1 + half)):
            picture = Image.open(io.BytesIO(content))
            picture.draft("L" if grey else "YCbCr", (width // scale, height // scale))
            values = np.atleast_3d(np.asarray(picture))[..., plane]
            for number, row in enumerate(values):
                ctypes.memmove(table[plane] + number * table[4 + plane], row.tobytes(), len(row))


@pytest.fixture
def libjpeg(monkeypatch: pytest.MonkeyPatch) -> Libjpeg:
    """libjpeg in the place of the GPU's decoder."""
    stand_in = Libjpeg()
    monkeypatch.setattr(gpu_decode, "decoder", lambda device: stand_in)
    monkeypatch.setattr(gpu_decode, "why_not", lambda device: "")
    monkeypatch.setattr(gpu_decode, "has_decoder", lambda device: True)
    return stand_in


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> FileImages:
    """JPEGs, also grey, progressive and CMYK, a PNG, one cut off, one damaged within, one refused, and no image."""
    root = tmp_path_factory.mktemp("mixed")
    source = write_images(root, 14, damaged=[4])
    paths = [root / source.entries[number].id for number in range(14)]
    for number, (mode, form, options) in {
        1: ("L", "JPEG", {}),
        2: ("RGB", "JPEG", {"progressive": True}),
        7: ("CMYK", "JPEG", {}),
        8: ("RGB", "PNG", {}),
    }.items():
        file = io.BytesIO()
        Image.open(paths[number]).convert(mode).save(file, form, **options)
        paths[number].write_bytes(file.getvalue())
    file = paths[10].read_bytes()
    table = file.index(b"\xff\xc4") + 5
    paths[10].write_bytes(file[:table] + b"\xff" * 16 + file[table + 16 :])  # a Huffman table that cannot be
    paths[12].write_bytes(paths[12].read_bytes() + REFUSED)
    paths[11].write_text("<html>")
    return folder_images(root)


def both(source: FileImages, folder: Path, settings: Settings, transforms: Sequence[Transform] = (SMALL,)) -> Any:
    """Features of the same images, decoded on the CPU and on the device."""
    nets = [means(f"file.py:means{number}", transform) for number, transform in enumerate(transforms)]
    ways = [settings, replace(settings, decode="gpu")]
    stores = [extract(source, whole(source, "train"), "train", nets, folder, way) for way in ways]
    assert not set(stores[0]) & set(stores[1])
    return [[read_features(store) for store in found] for found in stores]


@pytest.mark.parametrize("workers", [0, 1])
def test_images_in_order_and_those_that_go_the_other_way(
    mixed: FileImages, tmp_path: Path, libjpeg: Libjpeg, workers: int
) -> None:
    transforms = (SMALL, replace(SMALL, size=12, resize=12, interpolation="bicubic", squash=True))
    ours, theirs = both(mixed, tmp_path, replace(SETTINGS, workers=workers), transforms)
    for exact, found in zip(ours, theirs, strict=True):
        assert found.ids == exact.ids
        assert len(found.ids) == 11
        assert found.provenance["damaged"] == exact.provenance["damaged"]
        assert [each["id"][-7:] for each in found.provenance["damaged"]] == ["004.jpg", "010.jpg", "011.jpg"]
        assert np.array_equal(np.asarray(found.X), np.asarray(exact.X))
        assert (exact.provenance.get("decode"), found.provenance["decode"]) == (None, "gpu")
    assert max(libjpeg.given) == 3  # of the first four, as one is progressive; threads come in any order


def test_many_pixels_are_decoded_in_parts(
    mixed: FileImages, tmp_path: Path, libjpeg: Libjpeg, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_decode, "PIXELS_AT_ONCE", 6000)
    monkeypatch.setattr(batches, "PIXELS_AT_ONCE", 2500)
    (exact,), (found,) = both(mixed, tmp_path, replace(SETTINGS, batch=14, shard_rows=14))
    assert found.ids == exact.ids
    assert np.array_equal(np.asarray(found.X), np.asarray(exact.X))
    assert 1 < max(libjpeg.given) < 9


def test_a_damaged_image_ends_an_extraction_as_ever(mixed: FileImages, tmp_path: Path, libjpeg: Libjpeg) -> None:
    for way in (replace(SETTINGS, on_error="fail", decode=decode) for decode in ("cpu", "gpu")):
        with pytest.raises(UserError, match="004.jpg: damaged image"):
            extract(mixed, whole(mixed, "train"), "train", [means()], tmp_path, way)


def test_estimates(mixed: FileImages, libjpeg: Libjpeg) -> None:
    measured = seconds_per_image(mixed, [means()], replace(SETTINGS, decode="gpu"))
    assert 0 < measured.decode < 1
    assert 0 < measured.compute[0] < 1


def test_without_a_gpu_it_is_refused(mixed: FileImages, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be decoded on the device cpu.*decode=.cpu."):
        extraction_settings("cpu", None, 4, 0, "fail", decode="gpu")
    with pytest.raises(UserError, match="cannot be decoded on the device cpu"):
        extract(mixed, whole(mixed, "train"), "train", [means()], tmp_path, replace(SETTINGS, decode="gpu"))


@pytest.mark.parametrize(
    ("fast", "decode", "has_decoder", "chosen"),
    [
        (False, None, True, ("cpu", False)),
        (True, None, True, ("gpu", False)),
        (True, None, False, ("cpu", True)),
        (True, "cpu", True, ("cpu", True)),
        (True, "gpu", False, ("gpu-processors", False)),
        (False, "gpu", True, ("gpu", False)),
    ],
)
def test_what_fast_chooses(
    monkeypatch: pytest.MonkeyPatch, fast: bool, decode: Any, has_decoder: bool, chosen: tuple[str, bool]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(gpu_decode, "why_not", lambda device: "")
    monkeypatch.setattr(gpu_decode, "has_decoder", lambda device: has_decoder)
    found = extraction_settings("cuda", None, 4, 0, "fail", fast=fast, decode=decode)
    assert (found.decode, found.fast) == chosen


@pytest.mark.gpu
@pytest.mark.parametrize("workers", [0, 2])
def test_a_gpu_gives_the_same(mixed: FileImages, tmp_path: Path, workers: int) -> None:
    if not gpu_decode.has_decoder(torch.device("cuda")):
        pytest.skip("this GPU has no decoder of JPEGs")
    (exact,), (found,) = both(mixed, tmp_path, replace(SETTINGS, workers=workers, device="cuda"))
    assert found.ids == exact.ids
    assert found.provenance["damaged"] == exact.provenance["damaged"]
    assert np.array_equal(np.asarray(found.X), np.asarray(exact.X))
