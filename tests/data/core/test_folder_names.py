"""Folders whose names are not UTF-8 are named in the error."""

import os
from pathlib import Path

import pytest

from unseen.data.core.folder import folder_images
from unseen.errors import UserError


@pytest.mark.parametrize("name", [b"c\xff", b"a\nb", b"\x1b[2J"])
def test_a_class_whose_name_is_not_text_is_named(tmp_path: Path, name: bytes) -> None:
    folder = os.fsencode(tmp_path) + b"/" + name
    os.mkdir(folder)  # noqa: PTH102 - a path in bytes
    with open(folder + b"/a.png", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    with pytest.raises(UserError, match="rename its folder") as caught:
        folder_images(tmp_path)
    assert f"{os.fsdecode(name)!a}" in str(caught.value)
    assert str(caught.value).isprintable()
