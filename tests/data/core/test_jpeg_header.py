"""Headers of JPEGs: sizes, and which files any decoder may be given."""

import io
from typing import Any

import numpy as np
import pytest
from picture_files import encoded, picture
from PIL import Image

from unseen.data.core.decoding.decode import decode, plain_jpeg
from unseen.data.core.decoding.filled import UNFILLED
from unseen.data.core.decoding.jpeg_header import jpeg_header
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError

SMALL = Transform(size=8, resize=8)


@pytest.mark.parametrize(
    ("mode", "options", "plain"),
    [
        ("RGB", {}, True),
        ("RGB", {"subsampling": 0}, True),
        ("RGB", {"subsampling": 1}, True),
        ("RGB", {"optimize": True, "restart_marker_rows": 1}, True),
        ("L", {}, True),
        ("RGB", {"progressive": True}, False),
        ("CMYK", {}, False),
        ("RGB", {"keep_rgb": True, "subsampling": 0}, False),
    ],
)
def test_which_files_are_plain(mode: str, options: dict[str, Any], plain: bool) -> None:
    file = encoded(picture(0, 31, 17, mode), **options)
    header = jpeg_header(file)
    assert header is not None
    assert (header.size, header.plain, header.exif) == ((31, 17), plain, False)
    assert header.sampling == {0: (1, 1), 1: (2, 1)}.get(
        options.get("subsampling"), (2, 2) if mode == "RGB" else (1, 1)
    )
    assert plain_jpeg(file, [SMALL]) == (header if plain else None)


def test_what_follows_the_end_or_fills_gaps_changes_nothing() -> None:
    file = encoded(picture(0, 31, 17))
    assert jpeg_header(file + b"more") == jpeg_header(file)
    assert jpeg_header(file[:2] + b"\xff\xff" + file[2:]) == jpeg_header(file)


def test_a_file_that_is_cut_off_is_never_plain() -> None:
    file = encoded(picture(0, 31, 17), exif=_turned(6))
    found = [jpeg_header(file[:end]) for end in range(len(file))]
    assert not any(header and header.plain for header in found)
    assert found[-1] is not None
    assert found[-1].size == (31, 17)


def test_no_damaged_file_that_libjpeg_refuses_is_plain() -> None:
    rng = np.random.default_rng(0)
    whole = encoded(picture(3, 120, 90), quality=90), encoded(picture(4, 120, 90), restart_marker_rows=1)
    refused = 0
    for number in range(300):
        file = bytearray(whole[number % 2])
        at, length = int(rng.integers(600, len(file) - 2)), int(rng.integers(1, 30))
        file[at : at + length] = rng.choice([0, 255, 218, 217, 208, 17], length).astype(np.uint8).tobytes()
        try:
            decode(bytes(file), SMALL)
        except UserError as error:
            refused += 1  # one whose data end early is found on a GPU once it is decoded
            assert str(error) == UNFILLED or plain_jpeg(bytes(file), [SMALL]) is None
    assert refused > 20


@pytest.mark.parametrize(
    "file", [b"", b"\xff\xd8\xff", encoded(picture(), "PNG"), b"\xff\xd8\xff\xc0\0\x02\xff\xda\0\x02"]
)
def test_whatever_is_no_jpeg_has_no_header(file: bytes) -> None:
    assert jpeg_header(file) is None
    assert plain_jpeg(file, [SMALL]) is None


def test_turned_images_are_left_out_where_they_are_to_be_turned() -> None:
    turned, upright = (encoded(picture(0, 31, 17), exif=_turned(value)) for value in (6, 1))
    assert plain_jpeg(turned, [SMALL]) is not None
    assert plain_jpeg(upright, [SMALL], exif=True) is not None
    assert plain_jpeg(turned, [SMALL], exif=True) is None


def test_what_a_transform_refuses_is_left_to_the_decoder_that_says_why() -> None:
    file = encoded(picture(0, 31, 17))
    assert plain_jpeg(file, [SMALL, Transform(size=20, resize=None)]) is None
    assert plain_jpeg(np.asarray(Image.open(io.BytesIO(file))), [SMALL]) is None


def _turned(value: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = value
    return exif.tobytes()
