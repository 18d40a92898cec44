"""Headers of tar files in the POSIX (ustar, pax) and GNU formats, limited to what archives of images use.

Python's `tarfile` is not used, because archives are untrusted: it loops forever on a negative size, and reads a name of
gigabytes if a header declares one. Here every header must fit within its file, and every step moves forward.
"""

from dataclasses import dataclass

BLOCK = 512
FILE, FOLDER, LINKS = {b"0", b"\0", b"7"}, b"5", {b"1", b"2"}
LONG_NAME, LONG_LINK, PAX, GLOBAL_PAX = b"L", b"K", b"x", b"g"
EXTENSIONS = {LONG_NAME: 1 << 16, LONG_LINK: 1 << 16, PAX: 1 << 20, GLOBAL_PAX: 1 << 20}
"""Kinds of headers that extend the next header, and the maximum number of bytes that may follow each."""


class DamageError(Exception):
    """An invalid header."""


@dataclass
class Extended:
    """What extension headers specify for the next member.

    Attributes:
        sparse: whether the member is a sparse file, which is not stored contiguously.
    """

    name: str | None = None
    size: int | None = None
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """One block of 512 bytes: the member's name and kind, and the number of bytes that follow."""

    name: str
    size: int
    kind: bytes


def read_header(block: bytes) -> Header:
    """Parse a block; its checksum must be right."""
    if len(block) < BLOCK:
        raise DamageError("it ends within a header")
    checksum = sum(block[:148]) + 8 * ord(" ") + sum(block[156:])
    if _number(block[148:156]) != checksum:
        raise DamageError("a header with a wrong checksum")
    name, kind = _text(block[:100]), block[156:157]
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    if kind == b"\0" and name.endswith("/"):  # old archives mark folders this way
        kind = FOLDER
    return Header(name, _number(block[124:136]), kind)


def read_extension(header: Header, data: bytes, extended: Extended) -> None:
    """Add what an extension header and its data specify for the next member."""
    if header.kind == LONG_NAME:
        extended.name = _text(data)
    if header.kind not in {PAX, GLOBAL_PAX}:
        return
    records = _pax(data)
    sparse = any(key.startswith(b"GNU.sparse.") for key in records)
    if header.kind == GLOBAL_PAX:  # applies to all members that follow
        if sparse or records.keys() & {b"path", b"size"}:
            raise DamageError("one name or size for all its members")
        return
    extended.sparse = extended.sparse or sparse
    if b"path" in records:
        extended.name = _text(records[b"path"])
    if b"size" in records:
        extended.size = _decimal(records[b"size"])


def _pax(data: bytes) -> dict[bytes, bytes]:
    """Records `length key=value` followed by a line end; the length counts the whole record."""
    records: dict[bytes, bytes] = {}
    start = 0
    while start < len(data) and data[start : start + 1] != b"\0":
        word, space, _ = data[start : start + 20].partition(b" ")
        end = start + _decimal(word)
        key, equals, value = data[start + len(word) + 1 : end - 1].partition(b"=")
        if not space or not equals or end <= start or data[end - 1 : end] != b"\n":
            raise DamageError("an extended header that cannot be read")
        records[key] = value
        start = end
    return records


def _decimal(word: bytes) -> int:
    if not word.isdigit() or len(word) > 20:
        raise DamageError("an extended header without a number where one should be")
    return int(word)


def _number(field_: bytes) -> int:
    """An octal number, or a base-256 number if the first bit is set (GNU); negative numbers are not allowed."""
    if field_[0] == 0x80:
        return int.from_bytes(field_[1:], "big")
    text = field_.partition(b"\0")[0].strip()
    if field_[0] > 0x80 or not all(byte in b"01234567" for byte in text):
        raise DamageError("a header without a number where one should be")
    return int(text or b"0", 8)


def _text(field_: bytes) -> str:
    return field_.partition(b"\0")[0].decode("utf-8", "surrogateescape")
