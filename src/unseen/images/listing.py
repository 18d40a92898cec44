"""Which images there are, per class, in a folder or in ImageNet's tar files, which are read in place."""

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from os import DirEntry, scandir
from pathlib import Path, PurePosixPath

from unseen.errors import UserError

IMAGE_SUFFIXES = (".jpeg", ".jpg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
DAMAGE = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)
TAR_NAME = re.compile(r"(?P<id>[^/]+)\.tar")


def list_images(root: Path) -> Iterator[tuple[str, list[str]]]:
    """(class id, sorted names of its images), class by class, in order of id where `root` is a folder.

    `root` is one of: a folder with a folder per class; a folder with a tar file per class; one tar file (also
    compressed) of tar files per class, as ImageNet-21K is distributed. A class is what its folder or tar file is
    called; other files are passed over.
    """
    if root.is_dir():
        classes = _in_folder(root)
    elif root.is_file():
        classes = _in_outer_tar(root)
    else:
        raise UserError(f"{root}: no such file or folder")
    seen: set[str] = set()
    for name, images in classes:
        if name in seen:
            raise UserError(f"{root}: {name} is there twice, in two folders or tar files")
        seen.add(name)
        odd = next((image for image in images if not image.isprintable()), None)
        if odd is not None:
            raise UserError(f"{root}: an image of {name} has a name that is not plain text, {odd!a}; rename it")
        yield name, sorted(images)
    if not seen:
        raise UserError(f"{root}: no folder or tar file per class in it")


def _in_folder(root: Path) -> Iterator[tuple[str, list[str]]]:
    for entry in _entries(root):
        tar = TAR_NAME.fullmatch(entry.name)
        if entry.is_dir():
            files = _entries(Path(entry.path))
            yield entry.name, [file.name for file in files if _is_image(file.name) and file.is_file()]
        elif tar and entry.is_file():
            with _open_tar(Path(entry.path)) as archive:
                yield tar["id"], _images_of(archive, entry.path)


def _entries(folder: Path) -> list[DirEntry[str]]:
    try:
        with scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{folder}: cannot be read ({error.strerror})") from None


def _in_outer_tar(path: Path) -> Iterator[tuple[str, list[str]]]:
    with _open_tar(path) as outer:
        for member in _members(outer, str(path)):
            tar = TAR_NAME.fullmatch(PurePosixPath(member.name).name)
            if not tar or not member.isfile():
                continue
            where = f"{path}: {member.name}"
            try:
                # Plain tar only: trying compressions would rewind a compressed outer file for every class.
                with tarfile.open(fileobj=outer.extractfile(member), mode="r:") as inner:
                    yield tar["id"], _images_of(inner, where)
            except DAMAGE as error:
                raise UserError(f"{where}: damaged tar file ({error})") from None


def _open_tar(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except (tarfile.TarError, OSError) as error:
        raise UserError(f"{path}: not a readable tar file ({error})") from None


def _members(archive: tarfile.TarFile, where: str) -> Iterator[tarfile.TarInfo]:
    try:
        for member in archive:
            parts = PurePosixPath(member.name).parts
            if ".." in parts or member.name.startswith("/"):
                raise UserError(f"{where}: refused, a member's path leads outside the archive ({member.name})")
            yield member
            archive.members = []  # type: ignore[attr-defined]  # or 14 million of them stay in memory
    except DAMAGE as error:
        raise UserError(f"{where}: damaged tar file ({error})") from None


def _images_of(archive: tarfile.TarFile, where: str) -> list[str]:
    names = [PurePosixPath(m.name).name for m in _members(archive, where) if m.isfile() and _is_image(m.name)]
    if len(set(names)) < len(names):
        raise UserError(f"{where}: two images have the same name")
    return names


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGE_SUFFIXES) and not PurePosixPath(name).name.startswith(".")
