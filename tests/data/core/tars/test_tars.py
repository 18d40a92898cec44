"""The walk through tar files: what Python's own reader finds, and nothing that does not lead forward."""

import io
import tarfile
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.data.core.tars.archive import Member, open_plain_tar, open_tar
from unseen.errors import UserError


def members(place: Path) -> list[Member]:
    with open_tar(place) as archive:
        return list(archive.members())


def written(content: bytes, place: Path) -> Path:
    place.write_bytes(content)
    return place


def header(size: bytes, kind: bytes = tarfile.REGTYPE, name: str = "a.jpg") -> bytes:
    """A header with any bytes in the field of its size, and the right checksum."""
    member = tarfile.TarInfo(name)
    member.type = kind
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size.rjust(12, b"0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def base256(number: int) -> bytes:
    return (number % (1 << 96)).to_bytes(12, "big") if number < 0 else bytes([0x80]) + number.to_bytes(11, "big")


@pytest.mark.parametrize("format_", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_the_same_as_pythons_reader(tmp_path: Path, format_: int, compression: str) -> None:
    place = tmp_path / "a.tar"
    with tarfile.open(place, f"w:{compression}", format=format_) as archive:  # type: ignore[call-overload]
        for name, content in {"a.jpg": b"x" * 700, f"{'d' * 60}/{'e' * 60}.jpg": b"y" * 512, "ü/empty": b""}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        if format_ != tarfile.USTAR_FORMAT:
            archive.addfile(tarfile.TarInfo("long/" * 60 + "z.jpg"))
    with tarfile.open(place) as archive:
        expected = [(each.name, each.offset_data, each.size) for each in archive if each.isfile()]
    assert [(each.path, each.offset, each.size) for each in members(place)] == expected


@pytest.mark.parametrize(
    "content",
    [
        header(base256(-512)) + bytes(10_240),
        header(base256(1 << 62)) + bytes(10_240),
        header(base256(1 << 80)) + bytes(10_240),
        header(b"77777777777\0") + bytes(10_240),
        header(b"-1") + bytes(1024),
        header(b"9") + bytes(1024),
        header(base256(6 << 30), tarfile.GNUTYPE_LONGNAME) + bytes(1024),
        header(b"3000000", tarfile.GNUTYPE_LONGNAME) + bytes(1 << 20),
        header(b"40000000", tarfile.XHDTYPE) + bytes(1 << 23),
        header(b"24", tarfile.XHDTYPE) + b"99 size=9".ljust(512, b"\0") + header(b"0"),
        header(b"24", tarfile.XHDTYPE) + b"11 size=-9\n".ljust(512, b"\0") + header(b"0"),
        header(b"24", tarfile.XHDTYPE) + b"0 size=9\n".ljust(512, b"\0") + header(b"0"),
        header(b"24", tarfile.XGLTYPE) + b"10 size=9\n".ljust(512, b"\0") + header(b"0"),
        header(b"0", tarfile.GNUTYPE_SPARSE),
        header(b"40", tarfile.XHDTYPE) + b"22 GNU.sparse.major=1\n".ljust(512, b"\0") + header(b"0"),
        header(b"0")[:300],
        b"",
    ],
)
def test_what_does_not_fit_its_file_is_refused_at_once(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UserError, match=r"bad\.tar: (damaged|refused)"):
        members(written(content, tmp_path / "bad.tar"))


WHOLE = (
    header(b"1000") + bytes(512) + header(b"24", tarfile.XHDTYPE) + b"13 path=b.jpg\n".ljust(512, b"\0") + header(b"1")
)


@examples(150)
@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7), cut=st.integers(0, len(WHOLE)))
def test_a_damaged_tar_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: int, bit: int, cut: int
) -> None:
    changed = bytearray(WHOLE + bytes(1024))
    changed[place] ^= 1 << bit
    file = written(bytes(changed if cut % 2 else changed[:cut]), tmp_path_factory.getbasetemp() / "fuzz.tar")
    try:
        with open_plain_tar(file) as archive:
            found = [(each, archive.read(each)) for each in archive.members()]
    except UserError as error:
        assert "fuzz.tar" in str(error)
    else:
        assert all(len(content) == member.size for member, content in found)
