"""Images decoded once: the same bytes as decoding each time, in any order, stopped and gone on with."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from unseen.errors import UserError
from unseen.features import pixels as module
from unseen.features.pixels import Pixels, decode_pixels
from unseen.images.arrays import ArrayImages, array_images
from unseen.images.decode import decode
from unseen.images.folder import folder_images
from unseen.images.transform import Transform

CPU = torch.device("cpu")
SHAPE = Transform(size=10, resize=12)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)


@pytest.fixture
def source() -> ArrayImages:
    rng = np.random.default_rng(0)
    return array_images(rng.integers(0, 256, (30, 17, 21, 3), dtype=np.uint8), ["a", "b"] * 15)


def test_the_same_bytes_in_any_order(source: ArrayImages, tmp_path: Path) -> None:
    numbers = np.array([*range(29, 2, -1)])
    found = decode_pixels(source, numbers, SHAPE, tmp_path, device=CPU)
    assert len(found) == 27
    asked = np.array([26, 0, 7, 6, 13, 14, 0])
    expected = np.stack([decode(source.read(int(numbers[place])), SHAPE) for place in asked])
    np.testing.assert_array_equal(found.rows(asked).numpy(), expected)
    assert found.on_device() is found  # there is no GPU to move them to
    resident = Pixels(found.blocks, found.proportions, CPU, found.rows(np.arange(27)))
    assert torch.equal(resident.rows(asked), found.rows(asked))


def test_decoding_goes_on_where_it_was_stopped(source: ArrayImages, tmp_path: Path) -> None:
    numbers = np.arange(30)

    def stop(done: int, images: int) -> None:
        assert images == 30
        if done == 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decode_pixels(source, numbers, SHAPE, tmp_path, device=CPU, watch=stop)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    assert len(times) == 2
    rest: list[int] = []
    found = decode_pixels(source, numbers, SHAPE, tmp_path, device=CPU, watch=lambda done, _: rest.append(done))
    assert rest == [21, 28, 30]
    assert {path: path.stat().st_mtime_ns for path in times} == times
    expected = np.stack([decode(source.read(number), SHAPE) for number in range(30)])
    np.testing.assert_array_equal(found.rows(numbers).numpy(), expected)


def test_squashed_images_have_their_proportions(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    folder = tmp_path / "images" / "a"
    folder.mkdir(parents=True)
    sizes = [(20 + 3 * number, 31) for number in range(9)]
    for number, (width, height) in enumerate(sizes):
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    source = folder_images(tmp_path / "images")
    numbers = np.array([8, 0, 3, 4, 5, 1, 2, 7])
    squash = Transform(size=16, resize=16, squash=True)
    for workers in (0, 1):
        for _ in range(2):  # decoded, then found
            found = decode_pixels(source, numbers, squash, tmp_path / str(workers), device=CPU, workers=workers)
            expected = [sizes[number][0] / sizes[number][1] for number in numbers]
            np.testing.assert_allclose(found.proportions, expected, rtol=1e-6)
    plain = decode_pixels(source, numbers, Transform(size=16, resize=16), tmp_path / "plain", device=CPU)
    assert plain.proportions.tolist() == [1.0] * 8
    next((tmp_path / "0").rglob("*.proportions.npy")).write_bytes(b"")
    with pytest.raises(UserError, match=r"proportions\.npy: a damaged block"):
        decode_pixels(source, numbers, squash, tmp_path / "0", device=CPU)


def test_other_images_and_shapes_are_kept_apart(source: ArrayImages, tmp_path: Path) -> None:
    for numbers in (np.arange(7), np.arange(7)[::-1].copy()):
        for shape in (SHAPE, Transform(size=8, resize=12)):
            decode_pixels(source, numbers, shape, tmp_path, device=CPU)
    assert len([*tmp_path.iterdir()]) == 4
    # How a backbone normalises pixels changes none of them.
    decode_pixels(source, np.arange(7), Transform(size=10, resize=12, mean=(0, 0, 0)), tmp_path, device=CPU)
    assert len([*tmp_path.iterdir()]) == 4


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY nonsense", "object", "shape"])
def test_a_damaged_block_is_named(source: ArrayImages, tmp_path: Path, damage: bytes | str) -> None:
    decode_pixels(source, np.arange(30), SHAPE, tmp_path, device=CPU)
    block = next(tmp_path.rglob("000000007.npy"))
    if isinstance(damage, bytes):
        block.write_bytes(damage)
    else:
        wrong = np.array([{}, []], dtype=object) if damage == "object" else np.zeros((3, 10, 10, 3), np.uint8)
        np.save(block, wrong, allow_pickle=True)
    with pytest.raises(UserError, match=r"000000007\.npy: a damaged block of pixels .* delete it"):
        decode_pixels(source, np.arange(30), SHAPE, tmp_path, device=CPU)


@dataclass(frozen=True)
class Broken:
    """A source of which one image is no image, or cannot be got."""

    inner: ArrayImages
    gone: bool

    @property
    def entries(self) -> object:
        return self.inner.entries

    def read(self, number: int) -> NDArray[np.uint8] | bytes:
        if number != 9:
            return self.inner.read(number)
        if self.gone:
            raise UserError("the place is gone")
        return b"not an image"


@pytest.mark.parametrize(("gone", "message"), [(True, "the place is gone"), (False, "00000009: not an image")])
def test_an_image_that_cannot_be_read_is_named(source: ArrayImages, tmp_path: Path, gone: bool, message: str) -> None:
    with pytest.raises(UserError, match=message):
        decode_pixels(Broken(source, gone), np.arange(30), SHAPE, tmp_path, device=CPU)  # type: ignore[arg-type]
