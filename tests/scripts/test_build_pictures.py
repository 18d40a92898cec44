"""The pictures of the documentation: each is made by the script or named as an exception, used, and small."""

import re
from io import BytesIO

import numpy as np
from PIL import Image

from build_pictures import BY_HAND, IMAGES, PICTURES, ROOT, reduced

LARGEST = 250 * 1024


def test_every_picture_has_an_origin_and_a_reader() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in re.findall(r"images/([\w-]+\.(?:png|jpg))", page.read_text())}
    assert not PICTURES.keys() & BY_HAND.keys()
    assert PICTURES.keys() | BY_HAND.keys() == {path.name for path in IMAGES.iterdir()} == shown


def test_pictures_are_small() -> None:
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > LARGEST] == []


def test_pages_that_exceptions_name_exist() -> None:
    assert all((ROOT / how.partition(":")[0]).is_file() for how in BY_HAND.values())


def test_a_palette_changes_little() -> None:
    image = np.full((60, 2560, 3), 255, np.uint8)
    image[20:40] = (0, 114, 178)
    out = BytesIO()
    Image.fromarray(image).save(out, "PNG")
    found = Image.open(BytesIO(reduced(out.getvalue())))
    assert (found.mode, found.size) == ("P", (1280, 30))
    assert np.abs(np.asarray(found.convert("RGB"))[15].astype(int) - [0, 114, 178]).max() <= 2
