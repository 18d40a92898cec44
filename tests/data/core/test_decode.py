"""Pixels as PIL and torchvision make them; awkward files decoded right or refused by name."""

import io
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from picture_files import encoded, jpeg, picture
from PIL import Image, ImageOps

from unseen.data.core.arrays import array_images
from unseen.data.core.decoding import fast_pixels
from unseen.data.core.decoding.decode import (
    MAX_PIXELS,
    Damaged,
    decode,
    image_size,
    open_picture,
    orientation,
    read_pixels,
    whole_pixels,
)
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import Entry
from unseen.errors import UserError

SMALL = Transform(size=32, resize=32)


def reference(data: bytes, transform: Transform) -> np.ndarray:
    """The public CoG code's way: PIL's loader, then torchvision's transforms on PIL images."""
    transforms = pytest.importorskip("torchvision.transforms", reason="the reference for resizing")
    mode = transforms.InterpolationMode(transform.interpolation)
    sides: Any = (transform.resize, transform.resize) if transform.squash else transform.resize
    resize = [transforms.Resize(sides, mode)] if transform.resize else []
    steps = transforms.Compose([*resize, transforms.CenterCrop(transform.size)])
    return np.asarray(steps(Image.open(io.BytesIO(data)).convert("RGB")))


@examples(60)
@given(
    st.integers(1, 240), st.integers(1, 240), st.integers(1, 64), st.integers(0, 40),
    st.sampled_from(["bicubic", "bilinear", "nearest", "lanczos"]), st.booleans(),
    st.sampled_from([("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "P"),
                     ("PNG", "L"), ("PNG", "LA"), ("PNG", "1"), ("WEBP", "RGB"), ("BMP", "RGB"), ("GIF", "P")]),
)  # fmt: skip
def test_pixels_are_those_of_pil_and_torchvision(
    width: int, height: int, size: int, margin: int, interpolation: Any, squash: bool, kind: tuple[str, str]
) -> None:
    transform = Transform(size=size, resize=size + margin, interpolation=interpolation, squash=squash)
    data = encoded(picture(width, width, height, kind[1]), kind[0])
    assert np.array_equal(decode(data, transform), reference(data, transform))


@pytest.mark.parametrize("size", [(500, 375), (333, 500), (1200, 900), (225, 224)])
def test_pixels_at_the_sizes_of_imagenet(size: tuple[int, int]) -> None:
    data = encoded(picture(1, *size), quality=95)
    for transform in (Transform(), Transform(size=224, resize=256), Transform(size=299, resize=299)):
        assert np.array_equal(decode(data, transform), reference(data, transform))


def test_without_resizing_the_centre_is_cut_out() -> None:
    data = encoded(picture(0, 51, 40))
    transform = Transform(size=32, resize=None)
    assert np.array_equal(decode(data, transform), reference(data, transform))
    with pytest.raises(UserError, match="51 × 40 pixels, smaller than the crop of 64"):
        decode(data, Transform(size=64, resize=None))


def test_an_array_goes_the_same_way_as_a_file() -> None:
    for mode in ("RGB", "L"):
        image = picture(3, 50, 40, mode)
        assert np.array_equal(decode(np.asarray(image), SMALL), decode(encoded(image, "PNG"), SMALL))
    view = np.asarray(picture(3, 50, 40))[::-1, ::2]
    assert np.array_equal(decode(view, SMALL), decode(np.ascontiguousarray(view), SMALL))


def test_exif_orientation_is_applied_only_when_asked_for() -> None:
    image = picture(2, 60, 40)
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(image, exif=exif.tobytes())
    plain = encoded(image)
    assert np.array_equal(decode(data, SMALL), decode(plain, SMALL))
    turned = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    wide = Transform(size=32, resize=40)
    assert np.array_equal(decode(data, wide, exif=True), decode(np.asarray(turned), wide))
    assert not np.array_equal(decode(data, wide, exif=True), decode(data, wide))
    assert np.array_equal(decode(plain, wide, exif=True), decode(plain, wide))
    large = encoded(picture(2, 301, 200), exif=exif.tobytes())
    assert decode(large, wide, exif=True, fast=True).shape == (32, 32, 3)


@pytest.mark.parametrize("options", [{}, {"compression": "tiff_lzw"}, {"compression": "jpeg"}], ids=str)
@pytest.mark.parametrize("turn", range(1, 9))
def test_a_tiff_is_turned_only_when_asked_for(turn: int, options: dict[str, str]) -> None:
    """Though PIL always turns it."""
    image, exif = picture(2, 60, 40), Image.Exif()
    exif[0x0112] = turn
    data, plain = (encoded(image, "TIFF", exif=each, **options) for each in (exif, Image.Exif()))
    stored, size = Image.open(io.BytesIO(plain)), Transform(size=32, resize=40)
    tagged = Image.open(io.BytesIO(encoded(stored.convert("RGB"), "PNG", exif=exif)))
    turned = np.asarray(ImageOps.exif_transpose(tagged))
    for fast in (False, True):
        assert np.array_equal(decode(data, size, fast=fast), decode(plain, size, fast=fast))
        assert np.array_equal(decode(data, size, fast=fast, exif=True), decode(turned, size, fast=fast))
    assert np.array_equal(whole_pixels(data, ""), np.asarray(stored))
    assert np.array_equal(whole_pixels(data, "", exif=True), turned)
    assert (image_size(data), orientation(data)) == ((60, 40), turn)
    assert open_picture(data, "").format == "TIFF"


@pytest.mark.parametrize("format_", ["PNG", "TIFF"])
def test_sixteen_bit_grey_keeps_its_high_byte(format_: str) -> None:
    values = np.arange(32 * 32, dtype=np.uint16).reshape(32, 32) * 64
    pixels = decode(encoded(Image.fromarray(values), format_), SMALL)
    assert np.array_equal(pixels[:, :, 0], values // 256)
    assert np.array_equal(pixels[:, :, 1], pixels[:, :, 2])


def test_sixteen_bit_colour_is_as_in_pil() -> None:
    rows = np.random.default_rng(0).integers(0, 65536, (32, 32, 3), dtype=np.uint16)
    scanlines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in rows)
    data = png_of(32, 32, scanlines, depth=16, colour=2)
    assert np.array_equal(decode(data, SMALL), rows >> 8)
    assert np.array_equal(decode(data, SMALL), reference(data, SMALL))


def png_of(width: int, height: int, scanlines: bytes, depth: int = 8, colour: int = 0) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(scanlines)) + chunk(b"IEND", b"")
    )


def test_transparency_is_dropped_as_pil_does() -> None:
    palette = picture(4, 40, 40).quantize(64)
    for options in ({"transparency": bytes(range(0, 256, 4))}, {"transparency": 5}):
        data = encoded(palette, "PNG", **options)
        assert np.array_equal(decode(data, SMALL), np.asarray(palette.convert("RGB").resize((32, 32), Image.BICUBIC)))
    grey = encoded(picture(4, 40, 40, "L"), "PNG", transparency=100)
    assert np.array_equal(decode(grey, SMALL), reference(grey, SMALL))


def test_the_first_frame_of_an_animation() -> None:
    frames = [picture(seed, 40, 40).quantize(32) for seed in range(3)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert np.array_equal(decode(data, SMALL), reference(data, SMALL))
    assert np.array_equal(decode(data, SMALL), np.asarray(frames[0].convert("RGB").resize((32, 32), Image.BICUBIC)))


def test_the_first_of_several_pictures_in_a_camera_file() -> None:
    data = encoded(picture(1, 40, 40), "MPO", save_all=True, append_images=[picture(2, 40, 40)])
    assert np.array_equal(decode(data, SMALL), decode(encoded(picture(1, 40, 40)), SMALL))


def test_broken_metadata_does_not_matter() -> None:
    """PIL warns of it, and warnings are errors in these tests."""
    exif = b"Exif\0\0II*\0\x08\0\0\0\x05\0\x1a\x01\x05\0\x01\0\0\0\xff\xff\xff\x00"
    data = encoded(picture(1, 40, 40), exif=exif)
    with pytest.warns(UserWarning, match="Truncated File Read"):
        Image.open(io.BytesIO(data))
    assert np.array_equal(decode(data, SMALL), decode(encoded(picture(1, 40, 40)), SMALL))


def test_one_pixel_fills_the_square() -> None:
    pixels = decode(encoded(Image.new("RGB", (1, 1), (10, 200, 30)), "PNG"), SMALL)
    assert (pixels == [10, 200, 30]).all()
    assert pixels.shape == (32, 32, 3)


WHOLE = encoded(picture(5, 300, 200), quality=95)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (WHOLE[: len(WHOLE) // 2], "damaged image .image file is truncated"),
        (encoded(picture(5, 60, 60), "PNG")[:-200], "damaged image"),
        (WHOLE[:3], "not an image, but unknown content"),
        (b"\n<!DOCTYPE html><html><body>404", "not an image, but a web page"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nquit\n", "not an image"),
        (bytes(1000), "not an image"),
        (png_of(20_000, 20_000, b""), "20000 × 20000 pixels, more than the 200,000,000"),
        (png_of(1, 7_000_000, b""), "so narrow that it would become 32 × 224000000"),
        (encoded(Image.fromarray(np.full((40, 40), 1e6, np.float32)), "TIFF"), "floating-point pixels"),
        (encoded(Image.fromarray(np.full((40, 40), 70_000, np.int32)), "TIFF"), "more than 16 bits"),
    ],
)  # fmt: skip
def test_what_cannot_be_decoded_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        decode(data, SMALL)


@examples(150)
@given(st.data())
def test_damage_gives_pixels_or_a_sentence_and_nothing_else(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([jpeg(1), encoded(picture(1), "PNG"), encoded(picture(1), "GIF")]))
    at = data.draw(st.integers(0, len(whole) - 1))
    junk = data.draw(st.binary(max_size=8))
    try:
        assert decode(whole[:at] + junk + whole[at + len(junk) :], SMALL).shape == (32, 32, 3)
    except UserError as error:
        assert str(error)


def test_large_images_are_decoded_without_a_warning_and_pil_keeps_its_limit() -> None:
    before = Image.MAX_IMAGE_PIXELS
    assert before is not None
    side = 9600
    assert before < side * side < MAX_PIXELS
    data = encoded(Image.new("L", (side, side), 77))
    assert (decode(data, Transform(size=8, resize=8), fast=True) == 77).all()
    assert before == Image.MAX_IMAGE_PIXELS


def test_threads_agree() -> None:
    files = [encoded(picture(seed, 80 + seed, 60)) for seed in range(24)]
    alone = [decode(file, SMALL) for file in files]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda file: decode(file, SMALL), files * 4))
    assert all(np.array_equal(a, b) for a, b in zip(alone * 4, together, strict=True))


@examples(60)
@given(
    st.integers(1, 400), st.integers(1, 400), st.integers(1, 64), st.integers(0, 40),
    st.sampled_from(["bicubic", "bilinear", "nearest", "lanczos"]), st.booleans(),
    st.sampled_from([("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "RGBA"), ("PNG", "P"), ("WEBP", "RGB")]),
)  # fmt: skip
def test_the_fast_way_differs_by_a_grey_level_here_and_there(
    width: int, height: int, size: int, margin: int, interpolation: Any, squash: bool, kind: tuple[str, str]
) -> None:
    transform = Transform(size=size, resize=size + margin, interpolation=interpolation, squash=squash)
    data = encoded(picture(width, width, height, kind[1]), kind[0])
    gap = np.abs(decode(data, transform, fast=True).astype(int) - reference(data, transform))
    long = max(width, height) > 2 * min(width, height)
    assert gap.max() <= (0 if long or squash or interpolation in ("nearest", "lanczos") else 2)


@examples(60)
@given(
    st.integers(1, 300), st.floats(0.4, 2.5), st.sampled_from([16, 64, 224]), st.sampled_from(["bicubic", "bilinear"])
)
def test_the_fast_way_at_the_hardest_edges(width: int, ratio: float, size: int, interpolation: Any) -> None:
    """Black and white noise, where bytes are cut off at 0 and 255 all the time."""
    height = max(1, round(width * ratio))
    noise = 255 * np.random.default_rng(0).integers(0, 2, (height, width, 3), dtype=np.uint8)
    transform = Transform(size, size, interpolation)
    assert np.abs(decode(noise, transform, fast=True).astype(int) - decode(noise, transform)).max() <= 2


def test_the_fast_way_on_noise_where_every_rounding_shows() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(noise), quality=100, subsampling=0)
    gap = np.abs(decode(data, Transform(), fast=True).astype(int) - decode(data, Transform()))
    assert 0 < gap.max() <= 2
    assert gap.mean() < 0.05


def test_the_fast_way_without_resizing_is_exact() -> None:
    data = encoded(picture(0, 51, 40))
    transform = Transform(size=32, resize=None)
    assert np.array_equal(decode(data, transform, fast=True), decode(data, transform))


@pytest.mark.parametrize(
    "data",
    [
        encoded(picture(1, 90, 70)),
        encoded(picture(1, 90, 70, "L")),
        encoded(picture(1, 90, 70), quality=100, subsampling=0, progressive=True),
        encoded(picture(1, 90, 70), restart_marker_rows=1),
        encoded(picture(1, 40, 40), "MPO", save_all=True, append_images=[picture(2, 40, 40)]),
    ],
    ids=["colour", "grey", "progressive", "restarts", "camera"],
)
def test_the_fast_way_is_the_same_with_torchvision_and_without(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Image.open(io.BytesIO(data))
    pixels = fast_pixels.jpeg_pixels(data, opened)
    assert pixels is not None, "torchvision's decoder should have been found and used"
    assert np.array_equal(pixels, np.asarray(opened.convert("RGB")))
    fast = decode(data, SMALL, fast=True)
    monkeypatch.setattr(fast_pixels, "_torchvision_decoder", lambda: None)
    assert np.array_equal(decode(data, SMALL, fast=True), fast)


def test_the_fast_way_turns_images_when_asked_to() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(picture(2, 60, 40), exif=exif.tobytes())
    for turn in (False, True):
        exact = decode(data, Transform(size=32, resize=40), exif=turn).astype(int)
        assert np.abs(decode(data, Transform(size=32, resize=40), exif=turn, fast=True) - exact).max() <= 1


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 1}])
def test_the_fast_way_refuses_every_truncated_file(options: dict[str, Any]) -> None:
    whole = encoded(picture(5, 40, 32), quality=95, **options)
    assert decode(whole, SMALL, fast=True).shape == (32, 32, 3)
    for end in range(0, len(whole), 7):
        with pytest.raises(UserError):
            decode(whole[:end], SMALL, fast=True)
    with pytest.raises(UserError, match="damaged image .image file is truncated"):
        decode(whole[:-1], SMALL, fast=True)


@examples(150)
@given(st.data())
def test_the_fast_way_refuses_what_the_exact_way_refuses(data: st.DataObject) -> None:
    whole = jpeg(1)
    at = data.draw(st.integers(0, len(whole) - 1))
    junk = data.draw(st.binary(min_size=1, max_size=8))
    damaged = whole[:at] + junk + whole[at + len(junk) :]

    def outcome(fast: bool) -> NDArray[np.int64] | str:
        try:
            return decode(damaged, SMALL, fast=fast).astype(int)
        except UserError as error:
            return str(error)

    exact, fast = outcome(False), outcome(True)
    if isinstance(exact, str) or isinstance(fast, str):
        assert exact == fast
    else:
        assert np.abs(exact - fast).max() <= 2  # garbage can be so steep that two roundings add up


class Three:
    """A source whose second image is no image."""

    about: dict[str, str] = {}  # noqa: RUF012
    entries = (Entry("a/1", "a"), Entry("a/2", "a"), Entry("b/1", "b"))

    def read(self, number: int) -> bytes:
        return b"GIF89a" if number == 1 else jpeg(number)


def test_a_damaged_image_fails_or_is_reported_in_its_place() -> None:
    found = [read_pixels(Three(), number, SMALL, on_error="report") for number in range(3)]
    assert isinstance(found[1], Damaged)
    assert found[1].id == "a/2"
    assert found[1].reason
    assert np.array_equal(found[0], decode(jpeg(0), SMALL))
    assert np.array_equal(found[2], decode(jpeg(2), SMALL))
    with pytest.raises(UserError, match="a/2: .*image"):
        read_pixels(Three(), 1, SMALL)


def test_pixels_of_a_source_in_memory() -> None:
    source = array_images(np.full((2, 40, 40), 9, np.uint8), ["x", "y"])
    assert (read_pixels(source, 1, SMALL) == 9).all()


def test_a_pointer_of_git_lfs_is_named() -> None:
    with pytest.raises(UserError, match="Git LFS pointer"):
        decode(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", Transform())
