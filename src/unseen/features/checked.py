"""What was found when the bytes of features were last gone through, kept so that it need not be done again.

A store has it in its folder, a user's own file beside it:

    checked.json                   in a store
    train.npz.unseen-checked       beside train.npz; in the user's cache where nothing can be written there

It names the files, each with its size, the time of its last change and a hash of its first and last bytes. Where all of
these are as they were, the content is taken to be what it was; where any differs, as after a copy that does not keep
times, everything is gone through again. So a change is missed only where it keeps size, time and both ends of a file:
`unseen doctor --check-features` goes through everything whatever is noted.

A note is written whole or not at all, after the pass, and only about files that did not change during it.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from unseen.errors import UserError
from unseen.files import atomic_write

FORMAT = 1
IN_STORE = "checked.json"
SUFFIX = ".unseen-checked"
ENDS = 4096
"""Bytes at either end of a file that are compared."""
WORTH_KEEPING = 1 << 24
"""Bytes of features from which on a note is kept; smaller ones are gone through in hundredths of a second."""
COARSE, FINE = 2_000_000_000, 50_000_000
"""Nanoseconds within which two changes of a file may have the same time: where times are whole seconds, and else."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Stamp:
    """By what a change of a file is known.

    Attributes:
        changed: nanoseconds.
        ends: hash of the first and the last bytes.
    """

    name: str
    size: int
    changed: int
    ends: str

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        try:
            with path.open("rb") as file:
                state = os.fstat(file.fileno())  # of the open file: a network file system asks its server then
                digest = hashlib.sha256(file.read(ENDS))
                file.seek(max(state.st_size - ENDS, 0))
                digest.update(file.read(ENDS))
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        return cls(path.name, state.st_size, state.st_mtime_ns, digest.hexdigest()[:16])

    def settled(self, now: int) -> bool:
        """Whether a change from now on would have another time of change than the last one has."""
        return abs(now - self.changed) > (COARSE if self.changed % 1_000_000_000 == 0 else FINE)


@dataclass(frozen=True)
class Checked:
    """What going through features found.

    Attributes:
        content_hash: of all of them.
        zero_rows: numbers of the rows that are all zeros. No row has values that are not finite.
    """

    content_hash: str
    zero_rows: tuple[int, ...] = ()


def stamps_of(files: Sequence[Path]) -> tuple[Stamp, ...]:
    return tuple(map(Stamp.of, files))


def recall(place: Path, stamps: Sequence[Stamp]) -> Checked | None:
    """What is noted of the features at a place; None where nothing is, or it is about other files than these."""
    for path in _note_paths(place):
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            found = Checked(str(note["content_hash"]), tuple(map(int, note["zero_rows"])))
            if note["format"] == FORMAT and note["files"] == [list(astuple(stamp)) for stamp in stamps]:
                return found
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # a note that cannot be read says nothing
    return None


def remember(place: Path, stamps: Sequence[Stamp], checked: Checked) -> Path | None:
    """Keep what was found; the note's path, or None where it cannot be written or is not worth it."""
    if sum(stamp.size for stamp in stamps) < WORTH_KEEPING:
        return None
    note = {
        "format": FORMAT,
        "content_hash": checked.content_hash,
        "zero_rows": list(checked.zero_rows),
        "files": [astuple(stamp) for stamp in stamps],
    }
    for path in _note_paths(place):
        try:
            with atomic_write(path) as file:
                file.write(json.dumps(note).encode())
        except UserError:
            continue
        return path
    return None


def checked_once(
    place: Path, files: Sequence[Path], check: Callable[[], Checked], *, again: bool = False, tell: Tell | None = None
) -> Checked:
    """What is noted of features, or else what `check` finds when it goes through them now, which is noted.

    Args:
        place: the store or file.
        files: all that has their bytes.
        again: go through them whatever is noted.
        tell: told in a sentence that they were gone through, where that took time.
    """
    started, stamps = time.time_ns(), stamps_of(files)
    noted = None if again else recall(place, stamps)
    if noted is not None:
        return noted
    checked = check()
    if stamps_of(files) != stamps:
        raise UserError(f"{place}: changed while it was read; run the command again when nobody writes to it")
    if all(stamp.settled(started) for stamp in stamps):
        path = remember(place, stamps, checked)
        size = sum(stamp.size for stamp in stamps)
        if tell and size >= WORTH_KEEPING:
            kept = f"that is noted in {path}" if path else "no note can be kept, so every run does this"
            tell(f"{place}: {size / 1e9:.2f} GB checked and hashed once; {kept}")
    return checked


def _note_paths(place: Path) -> list[Path]:
    """Where a note may be: with the features, or in the user's cache."""
    place = place.absolute()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unseen"
    apart = f"{place.name}-{hashlib.sha256(str(place).encode()).hexdigest()[:12]}{SUFFIX}"
    return [place / IN_STORE if place.is_dir() else place.with_name(place.name + SUFFIX), home / apart]
