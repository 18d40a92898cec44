"""Images take memory by their pixels, and pixels by their data."""

import io
import resource
import struct
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unseen.data.core.decoding.decode import decode, image_size, plain_jpeg, read_pixels, whole_pixels
from unseen.data.core.decoding.filled import UNFILLED
from unseen.data.core.decoding.jpeg_header import FRAMES
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.folder import folder_images
from unseen.data.core.image_files import USUAL, Unread, bounded_image, image_bytes
from unseen.errors import UserError

SMALL = Transform(size=8, resize=8)
WAYS = (
    {}, {"progressive": True}, {"optimize": True}, {"restart_marker_blocks": 3}, {"restart_marker_rows": 1},
    {"subsampling": 0}, {"subsampling": 2, "quality": 95}, {"progressive": True, "restart_marker_blocks": 2},
)  # fmt: skip


def photograph(height: int, width: int, mode: str = "RGB", *, flat: bool = False, **way: object) -> bytes:
    """A smooth JPEG; with `flat`, its lower half is white."""
    coarse = np.random.default_rng(height).integers(0, 255, (height // 16 + 2, width // 16 + 2, 3), dtype=np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    if flat:
        image.paste((255, 255, 255), (0, height // 2, width, height))
    file = io.BytesIO()
    image.convert(mode).save(file, "JPEG", **way)
    return file.getvalue()


def claiming(file: bytes, height: int, width: int) -> bytes:
    """A JPEG with another size in its header."""
    at = 2
    while file[at + 1] not in FRAMES:
        at += 2 + int.from_bytes(file[at + 2 : at + 4])
    return file[: at + 5] + struct.pack(">HH", height, width) + file[at + 9 :]


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("height", "width"),
    [(16, 16), *(pytest.param(*size, marks=pytest.mark.long_suite) for size in ((17, 33), (100, 75), (9, 200)))],
)
def test_a_jpeg_that_claims_more_pixels_than_its_data_fill(
    height: int, width: int, way: dict[str, object], mode: str
) -> None:
    for flat in (False, True):
        file = photograph(height, width, mode, flat=flat, **way)
        assert decode(file, SMALL).shape == (8, 8, 3)
        for size in ((height + 32, width), (height + 17, width), (height, width + 64), (3_000, 2_999)):
            for fast in (False, True):
                with pytest.raises(UserError, match="damaged"):
                    decode(claiming(file, *size), SMALL, fast=fast)
            with pytest.raises(UserError, match="damaged"):
                whole_pixels(claiming(file, *size), "a")


def test_pixels_without_data_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(UserError) as refused:
        image_size(claiming(photograph(16, 16), 13_000, 13_000))
    assert str(refused.value) == UNFILLED


@pytest.mark.parametrize("name", ["WEBP", "JPEG2000"])
def test_formats_whose_decoders_take_four_times_the_memory(name: str) -> None:
    file = io.BytesIO()
    Image.new("L", (60, 50)).save(file, name)
    assert image_size(file.getvalue()) == (60, 50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules["unseen.data.core.decoding.size_limits"].MOST, name, 2_999)  # type: ignore[attr-defined]
        with pytest.raises(UserError, match=r"60 × 50 pixels, .* 2,999 .* PNG"):
            image_size(file.getvalue())


def test_tiles_of_a_tiff_larger_than_the_image() -> None:
    def tiff(side: int) -> bytes:
        data = [
            (256, 300),
            (257, 300),
            (258, 8),
            (259, 8),
            (262, 1),
            (277, 1),
            (322, side),
            (323, side),
            (324, 0),
            (325, 9),
        ]
        rows = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in data)
        return b"II*\0" + struct.pack("<IH", 8, len(data)) + rows + bytes(4)

    assert image_size(tiff(1_024)) == (300, 300)
    with pytest.raises(UserError, match="400,000,000"):
        image_size(tiff(20_000))


def test_bytes_behind_an_image_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    for name, size in (("a.jpg", 0), ("b.jpg", 3 << 30), ("c.jpg", 1 << 40)):
        (tmp_path / "cat" / name).write_bytes(photograph(16, 16))
        if size:
            with (tmp_path / "cat" / name).open("r+b") as file:
                file.truncate(size)
    images = folder_images(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in (1, 2):
        found = read_pixels(images, number, SMALL, on_error="report")
        assert not isinstance(found, np.ndarray)
        assert "16 × 16" in found.reason
        with pytest.raises(UserError, match=images.entries[number].id):
            read_pixels(images, number, SMALL)
        assert plain_jpeg(images.read(number), [SMALL]) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4 * USUAL >> 10
    assert isinstance(read_pixels(images, 0, SMALL, on_error="report"), np.ndarray)


def test_an_honest_image_of_more_bytes_than_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unseen.data.core.image_files.USUAL", 1_000)
    file = io.BytesIO()
    Image.new("RGB", (60, 50)).save(file, "BMP")
    content = file.getvalue()
    assert bounded_image(len(content), lambda start, count: content[start : start + count]) == content
    longer = content + bytes(60 * 50 * 8)
    assert isinstance(bounded_image(len(longer), lambda start, count: longer[start : start + count]), Unread)


def test_a_large_member_of_a_tar_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unseen.data.core.tars.webdataset import webdataset_images

    monkeypatch.setattr("unseen.data.core.image_files.USUAL", 1_000)
    with tarfile.open(tmp_path / "0.tar", "w") as archive:
        for name, content in (("a.jpg", photograph(16, 16) + bytes(9_000)), ("a.cls", b"0")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    with pytest.raises(UserError, match="16 × 16"):
        decode(webdataset_images(tmp_path / "0.tar", cache=tmp_path / "cache").read(0), SMALL)


def test_a_tiff_of_more_pixels_than_pil_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    Image.new("L", (60, 50)).save(file, "TIFF", compression="tiff_deflate")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000)
    monkeypatch.setattr("unseen.data.core.decoding.decode.USUAL_PIXELS", 1_000)
    assert decode(file.getvalue(), SMALL).shape == (8, 8, 3)
    assert Image.MAX_IMAGE_PIXELS == 1_000


def test_a_missing_image_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a\.jpg: cannot be read"):
        image_bytes(tmp_path / "a.jpg")
