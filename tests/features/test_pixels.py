"""Images decoded once: the same bytes as decoding each time, in any order, stopped and gone on with."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from unseen.data.core.arrays import ArrayImages, array_images
from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.folder import folder_images
from unseen.data.core.source import ImageSource
from unseen.errors import UserError
from unseen.features import pixels as module
from unseen.features.pixels import Pixels, decode_pixels

CPU = torch.device("cpu")
SHAPE = Transform(size=10, resize=12)


def decode_all(
    source: ImageSource, numbers: NDArray[np.int64], shape: Transform, folder: Path, **options: Any
) -> Pixels:
    [found] = decode_pixels(source, numbers, [(shape, len(numbers))], folder, **{"device": CPU, **options})
    return found


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)


@pytest.fixture
def source() -> ArrayImages:
    rng = np.random.default_rng(0)
    return array_images(rng.integers(0, 256, (30, 17, 21, 3), dtype=np.uint8), ["a", "b"] * 15)


def test_the_same_bytes_in_any_order(source: ArrayImages, tmp_path: Path) -> None:
    numbers = np.array([*range(29, 2, -1)])
    found = decode_all(source, numbers, SHAPE, tmp_path)
    assert len(found) == 27
    asked = np.array([26, 0, 7, 6, 13, 14, 0])
    expected = np.stack([decode(source.read(int(numbers[place])), SHAPE) for place in asked])
    np.testing.assert_array_equal(found.rows(asked).numpy(), expected)
    assert found.on_device() is found  # there is no GPU to move them to
    resident = Pixels((), found.proportions, CPU, found.rows(np.arange(27)))
    assert len(resident) == 27
    assert torch.equal(resident.rows(asked), found.rows(asked))


def test_decoding_goes_on_where_it_was_stopped(source: ArrayImages, tmp_path: Path) -> None:
    numbers = np.arange(30)

    def stop(done: int, images: int) -> None:
        assert images == 30
        if done == 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decode_all(source, numbers, SHAPE, tmp_path, watch=stop)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    assert len(times) == 2
    rest: list[int] = []
    found = decode_all(source, numbers, SHAPE, tmp_path, watch=lambda done, _: rest.append(done))
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
            found = decode_all(source, numbers, squash, tmp_path / str(workers), workers=workers)
            expected = [sizes[number][0] / sizes[number][1] for number in numbers]
            np.testing.assert_allclose(found.proportions, expected, rtol=1e-6)
    plain = decode_all(source, numbers, Transform(size=16, resize=16), tmp_path / "plain")
    assert plain.proportions.tolist() == [1.0] * 8
    next((tmp_path / "0").rglob("*.proportions.npy")).write_bytes(b"")
    with pytest.raises(UserError, match=r"proportions\.npy: a damaged block"):
        decode_all(source, numbers, squash, tmp_path / "0")


def test_other_images_and_shapes_are_kept_apart(source: ArrayImages, tmp_path: Path) -> None:
    for numbers in (np.arange(7), np.arange(7)[::-1].copy()):
        for shape in (SHAPE, Transform(size=8, resize=12)):
            decode_all(source, numbers, shape, tmp_path)
    assert len([*tmp_path.iterdir()]) == 4
    # How a backbone normalises pixels changes none of them.
    decode_all(source, np.arange(7), Transform(size=10, resize=12, mean=(0, 0, 0)), tmp_path)
    assert len([*tmp_path.iterdir()]) == 4


def test_two_geometries_are_decoded_from_one_reading(
    source: ArrayImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "fingerprint", lambda *_: "the same")  # it reads some of them too
    read: list[int] = []

    @dataclass(frozen=True)
    class Counted:
        @property
        def entries(self) -> object:
            return source.entries

        def read(self, number: int) -> NDArray[np.uint8] | bytes:
            read.append(number)
            return source.read(number)

    counted: Any = Counted()
    squash = Transform(size=16, resize=16, squash=True)
    numbers = np.arange(30)[::-1].copy()

    def stop(done: int, _: int) -> None:
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decode_pixels(counted, numbers, [(SHAPE, 30), (squash, 17)], tmp_path, device=CPU, watch=stop)
    tested, whole = decode_pixels(counted, numbers, [(SHAPE, 30), (squash, 17)], tmp_path, device=CPU)
    assert read == numbers.tolist()
    assert (len(tested), len(whole)) == (30, 17)
    for found, shape, count in ((tested, SHAPE, 30), (whole, squash, 17)):
        expected = np.stack([decode(source.read(int(number)), shape) for number in numbers[:count]])
        np.testing.assert_array_equal(found.rows(np.arange(count)).numpy(), expected)
    np.testing.assert_allclose(whole.proportions, np.full(17, 21 / 17), rtol=1e-6)
    next(tmp_path.glob(f"*/{14:09d}.proportions.npy")).with_name(f"{14:09d}.npy").unlink()
    read.clear()
    again = decode_pixels(counted, numbers, [(SHAPE, 30), (squash, 17)], tmp_path, device=CPU)[1]
    assert torch.equal(again.rows(np.arange(17)), whole.rows(np.arange(17)))
    assert read == numbers[14:21].tolist()  # the block that is not there


@pytest.fixture
def few_files() -> Iterator[None]:
    """A process that may open five more files than it has open."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/dev/fd").iterdir())
    gaps = [os.open(os.devnull, os.O_RDONLY)]
    while gaps[-1] <= highest:
        gaps.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (gaps[-1] + 5, before[1]))
    os.close(gaps.pop())
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    for number in gaps:
        os.close(number)


@pytest.mark.usefixtures("few_files")
def test_files_are_not_kept_open(source: ArrayImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 1)
    numbers = np.arange(30)
    squash = Transform(size=10, resize=10, squash=True)
    for shape in (SHAPE, squash):
        found = decode_all(source, numbers, shape, tmp_path)
        expected = np.stack([decode(source.read(number), shape) for number in range(30)])
        np.testing.assert_array_equal(found.rows(numbers).numpy(), expected)


@pytest.mark.usefixtures("few_files")
def test_too_many_open_files_are_no_damage(source: ArrayImages, tmp_path: Path) -> None:
    decode_all(source, np.arange(30), SHAPE, tmp_path)
    taken: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            decode_all(source, np.arange(30), SHAPE, tmp_path)
    finally:
        for number in taken:
            os.close(number)


@pytest.mark.gpu
def test_on_a_gpu_they_are_the_same(source: ArrayImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, asked = np.arange(30), np.array([26, 0, 7, 6, 13, 14, 0])
    host = decode_all(source, numbers, SHAPE, tmp_path)
    streamed = decode_all(source, numbers, SHAPE, tmp_path, device=torch.device("cuda"))
    resident = streamed.on_device()
    assert resident.resident is not None
    assert not resident.blocks
    assert len(resident) == 30
    assert resident.on_device() is resident
    for found in (streamed, resident):
        assert found.rows(asked).is_cuda
        assert torch.equal(found.rows(asked).cpu(), host.rows(asked))
    monkeypatch.setattr(module, "SHARE", 0.0)
    assert streamed.on_device() is streamed


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY nonsense", "object", "shape"])
def test_a_damaged_block_is_named(source: ArrayImages, tmp_path: Path, damage: bytes | str) -> None:
    decode_all(source, np.arange(30), SHAPE, tmp_path)
    block = next(tmp_path.rglob("000000007.npy"))
    if isinstance(damage, bytes):
        block.write_bytes(damage)
    else:
        wrong = np.array([{}, []], dtype=object) if damage == "object" else np.zeros((3, 10, 10, 3), np.uint8)
        np.save(block, wrong, allow_pickle=True)
    with pytest.raises(UserError, match=r"000000007\.npy: a damaged block of pixels .* delete it"):
        decode_all(source, np.arange(30), SHAPE, tmp_path)


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
        decode_all(Broken(source, gone), np.arange(30), SHAPE, tmp_path)  # type: ignore[arg-type]


def test_other_images_of_the_same_names_are_kept_apart(source: ArrayImages, tmp_path: Path) -> None:
    other = array_images(np.full((30, 17, 21, 3), 7, dtype=np.uint8), ["a", "b"] * 15)
    assert [entry.id for entry in other.entries] == [entry.id for entry in source.entries]
    for images in (source, other):
        found = decode_all(images, np.arange(30), SHAPE, tmp_path)
        expected = np.stack([decode(images.read(number), SHAPE) for number in range(30)])
        np.testing.assert_array_equal(found.rows(np.arange(30)).numpy(), expected)
