"""Images per class in every layout that ImageNet-21K comes in."""

import io
import os
import tarfile
import time
from pathlib import Path

import pytest

from unseen.data.core.listing import list_images
from unseen.errors import UserError

CLASSES = {"n00000001": ["n00000001_3.JPEG", "n00000001_12.JPEG"], "n00000002": ["n00000002_1.JPEG"], "n00000003": []}


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name, images in CLASSES.items():
        (tmp_path / "folders" / name).mkdir(parents=True)
        for image in images:
            (tmp_path / "folders" / name / image).write_bytes(b"jpeg")
    (tmp_path / "folders/n00000001/notes.txt").write_text("not an image")
    (tmp_path / "folders/n00000001/.hidden.jpeg").write_text("nor this")
    (tmp_path / "folders/README").write_text("nor this")
    return tmp_path / "folders"


@pytest.fixture
def tars(tmp_path: Path) -> Path:
    (tmp_path / "tars").mkdir()
    for name, images in CLASSES.items():
        files = dict.fromkeys([*images, "notes.txt"], b"jpeg" * 200)
        (tmp_path / f"tars/{name}.tar").write_bytes(tar_of(files))
    return tmp_path / "tars"


def outer(path: Path, tars: Path, mode: str) -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for file in sorted(tars.iterdir(), reverse=True):
            archive.add(file, f"winter21_whole/{file.name}")
    return path


EXPECTED = {name: sorted(images) for name, images in CLASSES.items()}


def test_a_folder_per_class(folders: Path) -> None:
    assert dict(list_images(folders)) == EXPECTED


def test_images_below_the_folder_of_a_class_are_not_left_out_silently(folders: Path) -> None:
    (folders / "n00000002/.ipynb_checkpoints").mkdir()
    (folders / "n00000002/.ipynb_checkpoints/copy.JPEG").write_bytes(b"jpeg")
    (folders / "n00000002/empty").mkdir()
    assert dict(list_images(folders)) == {name: sorted(images) for name, images in CLASSES.items()}
    (folders / "n00000002/empty/n00000002_2.JPEG").write_bytes(b"jpeg")
    with pytest.raises(UserError, match="n00000002_2.JPEG"):
        dict(list_images(folders))


def test_a_tar_file_per_class(tars: Path) -> None:
    assert dict(list_images(tars)) == EXPECTED


@pytest.mark.parametrize(("name", "mode"), [("whole.tar", "w"), ("whole.tar.gz", "w:gz")])
def test_one_tar_of_tars(tars: Path, tmp_path: Path, name: str, mode: str) -> None:
    assert dict(list_images(outer(tmp_path / name, tars, mode))) == EXPECTED


def test_hidden_files_are_told_by_their_own_name(tmp_path: Path) -> None:
    files = {"./n1_1.JPEG": b"", "n00000001/n1_2.JPEG": b"", "n00000001/._n1_3.JPEG": b""}
    (tmp_path / "n00000001.tar").write_bytes(tar_of(files))
    assert dict(list_images(tmp_path)) == {"n00000001": ["n1_1.JPEG", "n1_2.JPEG"]}


def test_a_compressed_tar_of_tars_is_read_once(tmp_path: Path) -> None:
    """Time grows with the size, not with its square: going back for every class would take minutes here."""
    with tarfile.open(tmp_path / "whole.tar.gz", "w:gz", compresslevel=1) as archive:
        for i in range(150):
            content = tar_of({f"n{i:08d}_1.JPEG": os.urandom(40_000)})
            member = tarfile.TarInfo(f"n{i:08d}.tar")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    start = time.perf_counter()
    assert len(dict(list_images(tmp_path / "whole.tar.gz"))) == 150
    assert time.perf_counter() - start < 5


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n00000001").mkdir()
    (tmp_path / "n00000001/a\nb.jpg").write_bytes(b"")
    with pytest.raises(UserError, match="not plain text"):
        list(list_images(tmp_path))


def test_a_class_twice_is_refused(folders: Path, tars: Path) -> None:
    (folders / "n00000002.tar").write_bytes((tars / "n00000002.tar").read_bytes())
    with pytest.raises(UserError, match="n00000002 occurs twice"):
        list(list_images(folders))


@pytest.mark.parametrize("path", ["../n1.JPEG", "/etc/n1.JPEG", "a/../../n1.JPEG"])
def test_paths_out_of_an_archive_are_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "n00000001.tar").write_bytes(tar_of({path: b""}))
    with pytest.raises(UserError, match="leads outside the archive"):
        list(list_images(tmp_path))


def test_a_damaged_tar_is_named(tmp_path: Path, tars: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/n00000001.tar").write_bytes(b"x" * 1000)
    with pytest.raises(UserError, match=r"n00000001\.tar: damaged tar file"):
        list(list_images(tmp_path / "bad"))
    whole = (tars / "n00000001.tar").read_bytes()
    (tmp_path / "bad/n00000001.tar").write_bytes(whole[:700] + b"y" * 800)
    with pytest.raises(UserError, match=r"n00000001\.tar: damaged"):
        list(list_images(tmp_path / "bad"))


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        list(list_images(tmp_path / "none"))
    with pytest.raises(UserError, match="no folder or tar file per class"):
        list(list_images(tmp_path))
