"""Labels that turn with their images, against PIL's own turning of pictures."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageDraw, ImageOps

from unseen.data.core.decoding.decode import decode, image_size, orientation
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.dense.labels import Objects
from unseen.data.core.dense.turned import turned_labels
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.own.description import describe
from unseen.data.own.open_own import open_own
from unseen.errors import UserError

ORIENTATIONS = range(1, 9)
WIDTH, HEIGHT = 17, 11


def tagged(picture: Image.Image, turn: int) -> Image.Image:
    """The picture as it is read from a file with this EXIF orientation."""
    exif, file = Image.Exif(), io.BytesIO()
    exif[ExifTags.Base.Orientation] = turn
    picture.save(file, format="PNG", exif=exif)
    return Image.open(file)


def by_pil(values: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    return np.array(ImageOps.exif_transpose(tagged(Image.fromarray(values), turn)))


def heights(rng: np.random.Generator) -> NDArray[np.uint8]:
    return rng.integers(0, 255, (HEIGHT, WIDTH), dtype=np.uint8)


def normals_of(surface: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Normals of a surface whose height rises towards the camera, in x to the right, y up, z towards the camera."""
    down, right = np.gradient(surface.astype(np.float64))
    vectors = np.stack((-right, down, np.ones(surface.shape)), axis=2)
    return (vectors / np.linalg.norm(vectors, axis=2, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("turn", ORIENTATIONS)
def test_maps_turn_as_pictures_do(turn: int) -> None:
    surface = heights(np.random.default_rng(0))
    expected = by_pil(surface, turn)
    size = (WIDTH, HEIGHT)
    assert np.array_equal(turned_labels(surface, "classes", turn, size), expected)
    depth = turned_labels(surface.astype(np.float32), "depth", turn, size)
    assert np.array_equal(depth, expected.astype(np.float32))
    # The normals of a turned surface are computed from its heights.
    turned = turned_labels(normals_of(surface), "normals", turn, size)
    assert np.allclose(turned, normals_of(expected), atol=1e-6)


@pytest.mark.parametrize("turn", ORIENTATIONS)
def test_boxes_turn_as_drawn_ones_do(turn: int) -> None:
    boxes = np.array([[0, 0, 4, 2], [3, 5, 17, 11], [16, 0, 17, 11]])
    turned = turned_labels(Objects.of(boxes, [0, 1, 2], ignored=[0, 1, 0]), "boxes", turn, (WIDTH, HEIGHT))
    assert isinstance(turned, Objects)
    assert turned.ignored.tolist() == [False, True, False]
    for box, found in zip(boxes.tolist(), turned.boxes.astype(int).tolist(), strict=True):
        drawn = Image.new("L", (WIDTH, HEIGHT))
        ImageDraw.Draw(drawn).rectangle((box[0], box[1], box[2] - 1, box[3] - 1), fill=255)
        expected = by_pil(np.array(drawn), turn)
        again = Image.new("L", expected.shape[::-1])
        ImageDraw.Draw(again).rectangle((found[0], found[1], found[2] - 1, found[3] - 1), fill=255)
        assert np.array_equal(np.array(again), expected)


def two_masks(root: Path, turn: int, suffix: str = ".png", *, turned: bool = False) -> OpenDataset:
    """Images that are bright where their masks are 1, with an EXIF orientation; masks may be of the turned image."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = turn
    for seed, split in enumerate(("train", "test")):
        for kind in ("images", "masks"):
            (root / kind / split).mkdir(parents=True)
        mask = (np.random.default_rng(seed).random((HEIGHT, WIDTH)) < 0.5).astype(np.uint8)
        Image.fromarray(np.repeat(255 * mask[..., None], 3, axis=2)).save(root / f"images/{split}/x{suffix}", exif=exif)
        Image.fromarray(by_pil(mask, turn) if turned else mask).save(root / f"masks/{split}/x.png")
    (root / "classes.txt").write_text("dark\nbright\n")
    return open_own(describe(root))


@pytest.mark.parametrize("turn", ORIENTATIONS)
@pytest.mark.parametrize("exif", [False, True])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_a_mask_stays_on_its_image(tmp_path: Path, turn: int, exif: bool, suffix: str) -> None:
    data = replace(two_masks(tmp_path, turn, suffix), exif=exif)
    assert orientation(data.source.read(0)) == turn
    assert image_size(data.source.read(0)) == (WIDTH, HEIGHT)
    mask = np.asarray(data.labels(0))
    assert np.array_equal(data.pixels(0)[..., 0] > 127, mask == 1)
    assert mask.shape == ((WIDTH, HEIGHT) if exif and turn > 4 else (HEIGHT, WIDTH))
    # The pixels that a backbone gets are turned alike.
    square = decode(data.source.read(0), Transform(size=64, resize=64, squash=True), exif=exif)
    scaled = Image.fromarray(data.pixels(0)).resize((64, 64), Image.Resampling.BICUBIC)
    assert np.abs(square.astype(int) - np.array(scaled)).mean() < 20


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_labels_of_the_turned_image_are_named(tmp_path: Path, suffix: str) -> None:
    data = two_masks(tmp_path, 6, suffix, turned=True)
    for exif in (False, True):
        with pytest.raises(UserError, match=r"a map of 11 × 17 pixels .* EXIF orientation"):
            replace(data, exif=exif).labels(0)


def test_orientations_that_do_not_exist_turn_nothing() -> None:
    for number in (0, 9, 1000):
        file = io.BytesIO()
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = number
        Image.new("RGB", (4, 2)).save(file, format="JPEG", exif=exif)
        assert orientation(file.getvalue()) == 1
    assert orientation(np.zeros((2, 2), dtype=np.uint8)) == 1
    assert orientation(b"no image") == 1
