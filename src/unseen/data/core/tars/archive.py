"""Reading the members of tar files in place. Nothing is unpacked, and no link is followed."""

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from unseen.data.core.tars.headers import (
    BLOCK,
    EXTENSIONS,
    FILE,
    FOLDER,
    LINKS,
    DamageError,
    Extended,
    read_extension,
    read_header,
)
from unseen.errors import UserError
from unseen.files import LFS_POINTER, is_lfs_pointer
from unseen.reading.guard import reading

IMAGE_SUFFIXES = (".jpeg", ".jpg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
TAR_NAME = re.compile(r"(?P<id>[^/]+)\.tar")
COMPRESSED = {b"\x1f\x8b": "gunzip", b"BZ": "bunzip2", b"\xfd7zXZ": "unxz", b"\x28\xb5\x2f\xfd": "unzstd"}
OPENERS: dict[str, Any] = {"gunzip": gzip.open, "bunzip2": bz2.open, "unxz": lzma.open}


@dataclass(frozen=True, slots=True)
class Member:
    """A plain file in an archive, and the position of its data in the outermost file."""

    path: str
    offset: int
    size: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Archive:
    """A tar file, or a tar file inside another one, read sequentially.

    Attributes:
        where: its name in error messages.
        end: its end in the outermost file; None if that file is compressed.
        start: its start in the outermost file.
    """

    file: IO[bytes]
    where: str
    end: int | None
    start: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def members(self) -> Iterator[Member]:
        """The plain files, in order.

        Paths that lead outside, links, devices and sparse files are refused: a genuine archive of images has none, and
        the data of links and sparse files is stored elsewhere.
        """
        with reading(Path(self.where), "a tar file"):
            try:
                yield from self._walk()
            except DamageError as error:
                if is_lfs_pointer(Path(self.where)):
                    raise UserError(f"{self.where}: {LFS_POINTER}") from None
                raise UserError(f"{self.where}: damaged tar file ({error})") from None

    def read(self, member: Member) -> bytes:
        """The bytes of a member."""
        return self._bytes(member.offset, member.size)

    def inside(self, member: Member) -> "Archive":
        """A member that is itself a tar file."""
        return Archive(self.file, f"{self.where}: {member.path}", member.offset + member.size, member.offset)

    def _walk(self) -> Iterator[Member]:
        position, extended = self.start, Extended()
        while (block := self._bytes(position, BLOCK)) and block.count(0) < BLOCK:
            header = read_header(block)
            extends = header.kind in EXTENSIONS
            size = header.size if extends or extended.size is None else extended.size
            data = position + BLOCK
            position = data + -(-size // BLOCK) * BLOCK
            if self.end is not None and position > self.end:
                raise DamageError(f"it ends within {header.name}")
            if extends:
                if size > EXTENSIONS[header.kind]:
                    raise DamageError(f"a name or an extended header of {size:,} bytes")
                read_extension(header, self._bytes(data, size), extended)
                continue
            name = header.name if extended.name is None else extended.name
            self._check(name, header.kind, sparse=extended.sparse)
            if header.kind in FILE:
                yield Member(name, data, size)
            extended = Extended()
        if position == self.start and not block:
            raise DamageError("it is empty")

    def _check(self, name: str, kind: bytes, *, sparse: bool) -> None:
        if name.startswith("/") or (".." in name and ".." in name.split("/")):
            raise UserError(f"{self.where}: refused, a member's path leads outside the archive ({name})")
        if sparse or (kind not in FILE and kind != FOLDER):
            what = "a link" if kind in LINKS else "not a plain file"
            raise UserError(f"{self.where}: refused, its member {name} is {what}")

    def _bytes(self, position: int, size: int) -> bytes:
        if self.end is not None:
            size = max(0, min(size, self.end - position))
        if self.file.seek(position) < position:  # a compressed file ends here
            raise DamageError("it ends within a member")
        return self.file.read(size)


def is_image(name: str) -> bool:
    """Whether a file name is that of an image and not hidden."""
    return name.lower().endswith(IMAGE_SUFFIXES) and not name.rpartition("/")[2].startswith(".")


def open_tar(path: Path) -> Archive:
    """Open a tar file, possibly compressed, for sequential reading."""
    program = _compression(path)
    if program is None:
        return open_plain_tar(path)
    if program not in OPENERS:
        raise UserError(f"{path}: this compression is not supported; decompress it ({program})")
    return Archive(OPENERS[program](path), str(path), None)


def open_plain_tar(path: Path) -> Archive:
    """Open a tar file whose members can be read by offset; a compressed one is refused."""
    program = _compression(path)
    if program is not None:
        raise UserError(f"{path}: compressed, so its images cannot be read in place; decompress it ({program})")
    with reading(path, "a tar file"):
        file = path.open("rb")
        return Archive(file, str(path), os.fstat(file.fileno()).st_size)


def _compression(path: Path) -> str | None:
    """The program that decompresses a file, if it is compressed."""
    with reading(path, "a tar file"), path.open("rb") as file:
        start = file.read(8)
    return next((program for magic, program in COMPRESSED.items() if start.startswith(magic)), None)


def images_in(archive: Archive) -> list[Member]:
    """The images of one class, in the archive's order."""
    images = [member for member in archive.members() if is_image(member.path)]
    if len({member.name for member in images}) < len(images):
        raise UserError(f"{archive.where}: two images have the same name")
    return images


def tars_in(outer: Archive) -> Iterator[tuple[str, list[Member]]]:
    """(class id, its images) for every tar file inside a tar file."""
    for member in outer.members():
        tar = TAR_NAME.fullmatch(member.name)
        if tar:
            yield tar["id"], images_in(outer.inside(member))
