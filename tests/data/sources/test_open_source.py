"""What a path is, told from what is there."""

from pathlib import Path

import pytest
from picture_files import jpeg, tar_of

from unseen.data.sources.open_source import open_images
from unseen.errors import UserError


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


TAR = tar_of({"n00000001_1.JPEG": jpeg(1)})
SHARD = tar_of({"1.jpg": jpeg(1), "1.cls": b"4"})


@pytest.mark.parametrize(
    ("files", "place", "kind"),
    [
        ({"cat/1.jpg": jpeg(1)}, "", "folder per class"),
        ({"train/1.jpg": jpeg(1), "bus/1.jpg": jpeg(2)}, "", "folder per class"),
        ({"n00000001.tar": TAR}, "", "tar file per class"),
        ({"x/whole.tar": tar_of({"n00000001.tar": TAR})}, "x/whole.tar", "tar file of tar files"),
        ({"x/000.tar": SHARD}, "x", "WebDataset"),
        ({"000.tar": SHARD}, "000.tar", "WebDataset"),
        ({"000.tar": SHARD}, "{000..000}.tar", "WebDataset"),
        ({"list.txt": b"a.jpg 1\n", "a.jpg": jpeg(1)}, "list.txt", "list file"),
    ],
)
def test_recognised(tmp_path: Path, files: dict[str, bytes], place: str, kind: str) -> None:
    write(tmp_path / "images", files)
    for path in (tmp_path / "images" / place, str(tmp_path / "images" / place)):
        source = open_images(path)
        assert source.about["kind"] == kind
        assert source.read(0) == jpeg(1) or "bus/1.jpg" in files


@pytest.mark.parametrize(
    ("files", "place", "reason"),
    [
        ({}, "none", "no such file or folder; expected a folder per class, a list file"),
        ({"readme.md": b""}, "", "contains no images .* expected a folder per class"),
        ({"a.jpg": jpeg(1)}, "", "has images but no classes"),
        ({"a.zip": b"PK"}, "a.zip", "damaged tar file"),
        ({"train/cat/1.jpg": jpeg(1), "val/cat/1.jpg": jpeg(1)}, "", "several splits"),
    ],
)
def test_not_recognised(tmp_path: Path, files: dict[str, bytes], place: str, reason: str) -> None:
    (tmp_path / "images").mkdir()
    write(tmp_path / "images", files)
    with pytest.raises(UserError, match=reason):
        open_images(tmp_path / "images" / place)


def test_options_of_other_kinds_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"cat/1.jpg": jpeg(1)})
    with pytest.raises(UserError, match="a folder per class has no option 'split'"):
        open_images(tmp_path, split="train")


def test_any_set_with_training_and_validation_folders(tmp_path: Path) -> None:
    write(tmp_path, {"train/cat/1.jpg": jpeg(1), "train/dog/1.jpg": jpeg(2), "val/cat/9.jpg": jpeg(3)})
    assert [entry.id for entry in open_images(tmp_path, split="train").entries] == ["cat/1.jpg", "dog/1.jpg"]
    assert open_images(tmp_path, split="val").read(0) == jpeg(3)
