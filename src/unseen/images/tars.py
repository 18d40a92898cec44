"""Walking tar files in place: what is in them and where. Nothing is unpacked, and no link is followed."""

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError

IMAGE_SUFFIXES = (".jpeg", ".jpg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
TAR_NAME = re.compile(r"(?P<id>[^/]+)\.tar")
COMPRESSED = {b"\x1f\x8b": "gunzip", b"BZ": "bunzip2", b"\xfd7zXZ": "unxz", b"\x28\xb5\x2f\xfd": "unzstd"}
DAMAGE = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class Member:
    """A plain file in an archive, and where its bytes are in the outermost file."""

    path: str
    offset: int
    size: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def is_image(name: str) -> bool:
    """Whether a file's name is that of an image and not hidden."""
    return name.lower().endswith(IMAGE_SUFFIXES) and not name.rpartition("/")[2].startswith(".")


def open_tar(path: Path) -> tarfile.TarFile:
    """A tar file, also a compressed one, to be read from front to back."""
    try:
        return tarfile.open(path)
    except (tarfile.TarError, OSError) as error:
        raise UserError(f"{path}: not a readable tar file ({error})") from None


def open_plain_tar(path: Path) -> tarfile.TarFile:
    """A tar file whose members can be read by offset; a compressed one is refused."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    for magic, program in COMPRESSED.items():
        if start.startswith(magic):
            raise UserError(f"{path}: compressed, so its images cannot be read in place; decompress it ({program})")
    return open_tar(path)


def files_in(archive: tarfile.TarFile, where: str) -> Iterator[tarfile.TarInfo]:
    """The plain files of an archive, in its order.

    Paths that lead outside, links, devices and files with holes are refused: an honest archive of images has none, and
    the bytes of a link or of a file with holes are elsewhere than they seem.
    """
    try:
        for member in archive:
            if member.name.startswith("/") or (".." in member.name and ".." in member.name.split("/")):
                raise UserError(f"{where}: refused, a member's path leads outside the archive ({member.name})")
            if not (member.isdir() or member.isfile()) or member.issparse():
                kind = "a link" if member.issym() or member.islnk() else "not a plain file"
                raise UserError(f"{where}: refused, its member {member.name} is {kind}")
            if member.isfile():
                yield member
            archive.members = []  # type: ignore[attr-defined]  # or 14 million of them stay in memory
    except DAMAGE as error:
        raise UserError(f"{where}: damaged tar file ({error})") from None


def images_in(archive: tarfile.TarFile, where: str, start: int = 0) -> list[Member]:
    """The images of one class, in the archive's order; `start` is where the archive begins in the outermost file."""
    found = [Member(m.name, start + m.offset_data, m.size) for m in files_in(archive, where) if is_image(m.name)]
    if len({member.name for member in found}) < len(found):
        raise UserError(f"{where}: two images have the same name")
    return found


def tars_in(outer: tarfile.TarFile, where: str) -> Iterator[tuple[str, list[Member]]]:
    """(class id, its images) for every tar file in a tar file."""
    for member in files_in(outer, where):
        tar = TAR_NAME.fullmatch(member.name.rpartition("/")[2])
        if not tar:
            continue
        inside = f"{where}: {member.name}"
        try:
            # Plain tar only: trying compressions would rewind a compressed outer file for every class.
            with tarfile.open(fileobj=outer.extractfile(member), mode="r:") as inner:
                yield tar["id"], images_in(inner, inside, member.offset_data)
        except DAMAGE as error:
            raise UserError(f"{inside}: damaged tar file ({error})") from None
