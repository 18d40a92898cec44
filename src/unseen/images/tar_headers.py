"""Headers of tar files in the formats of POSIX (ustar, pax) and GNU, as far as archives of images have them.

Not Python's `tarfile`, for archives come from elsewhere: it goes in circles where a size is negative, and reads a name
of gigabytes because a header says so. Here every header must fit its file and every step leads forward.
"""

from dataclasses import dataclass

BLOCK = 512
FILE, FOLDER, LINKS = {b"0", b"\0", b"7"}, b"5", {b"1", b"2"}
LONG_NAME, LONG_LINK, PAX, GLOBAL_PAX = b"L", b"K", b"x", b"g"
EXTENSIONS = {LONG_NAME: 1 << 16, LONG_LINK: 1 << 16, PAX: 1 << 20, GLOBAL_PAX: 1 << 20}
"""Kinds of headers that say more of the next one, and how many bytes may follow each."""


class DamageError(Exception):
    """A header that cannot be."""


@dataclass
class Extended:
    """What the headers before a member's own say of it.

    Attributes:
        sparse: it is a file with holes, whose bytes are elsewhere than they seem.
    """

    name: str | None = None
    size: int | None = None
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """One block of 512 bytes: whose it is, of what kind, and how many bytes follow."""

    name: str
    size: int
    kind: bytes


def read_header(block: bytes) -> Header:
    """What a block says, whose checksum must be right."""
    if len(block) < BLOCK:
        raise DamageError("it ends within a header")
    checksum = sum(block[:148]) + 8 * ord(" ") + sum(block[156:])
    if _number(block[148:156]) != checksum:
        raise DamageError("a header with a wrong checksum")
    name, kind = _text(block[:100]), block[156:157]
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    if kind == b"\0" and name.endswith("/"):  # as folders were written before there were kinds
        kind = FOLDER
    return Header(name, _number(block[124:136]), kind)


def read_extension(header: Header, data: bytes, extended: Extended) -> None:
    """Add what a header of `EXTENSIONS` and the bytes behind it say of the next member."""
    if header.kind == LONG_NAME:
        extended.name = _text(data)
    if header.kind not in {PAX, GLOBAL_PAX}:
        return
    records = _pax(data)
    sparse = any(key.startswith(b"GNU.sparse.") for key in records)
    if header.kind == GLOBAL_PAX:  # of all members that follow
        if sparse or records.keys() & {b"path", b"size"}:
            raise DamageError("one name or size for all its members")
        return
    extended.sparse = extended.sparse or sparse
    if b"path" in records:
        extended.name = _text(records[b"path"])
    if b"size" in records:
        extended.size = _decimal(records[b"size"])


def _pax(data: bytes) -> dict[bytes, bytes]:
    """Records `length key=value` and a line end, where the length is that of the whole record."""
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
    """Octal digits, or with the first bit set a number in base 256 (GNU); none is negative here."""
    if field_[0] == 0x80:
        return int.from_bytes(field_[1:], "big")
    text = field_.partition(b"\0")[0].strip()
    if field_[0] > 0x80 or not all(byte in b"01234567" for byte in text):
        raise DamageError("a header without a number where one should be")
    return int(text or b"0", 8)


def _text(field_: bytes) -> str:
    return field_.partition(b"\0")[0].decode("utf-8", "surrogateescape")
