"""Cached results of checking the bytes of features, so that the check need not be repeated.

A store has a note in its folder, a user's own file has one beside it:

    checked.json                   in a store
    train.npz.unseen-checked       beside train.npz; in the user's cache if that folder is not writable

The note names the files, each with its size, modification time and a hash of its first and last bytes. If all of these
are unchanged, the content is assumed to be unchanged; if any differs, for example after a copy that does not preserve
times, all bytes are checked again. A change is therefore missed only if it preserves the size, the time and both ends
of a file: `unseen doctor --check-features` always checks everything.

A note is written atomically after the check, and only for files that did not change during it.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from unseen.errors import UserError
from unseen.files import refuse_special, write_text

FORMAT = 1
IN_STORE = "checked.json"
SUFFIX = ".unseen-checked"
ENDS = 4096
"""Bytes compared at each end of a file."""
WORTH_KEEPING = 1 << 24
"""Size of features in bytes from which a note is kept; smaller ones are checked within hundredths of a second."""
COARSE, FINE = 2_000_000_000, 50_000_000
"""Nanoseconds within which two changes of a file may have the same timestamp: for whole-second timestamps, and
otherwise.
"""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Stamp:
    """The properties by which a change of a file is detected.

    Attributes:
        changed: modification time in nanoseconds.
        ends: hash of the first and the last bytes.
    """

    name: str
    size: int
    changed: int
    ends: str

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        try:
            refuse_special(path)
            with path.open("rb") as file:
                state = os.fstat(file.fileno())  # stat of the open file: network file systems then ask their server
                digest = hashlib.sha256(file.read(ENDS))
                file.seek(max(state.st_size - ENDS, 0))
                digest.update(file.read(ENDS))
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        return cls(path.name, state.st_size, state.st_mtime_ns, digest.hexdigest()[:16])

    def settled(self, now: int) -> bool:
        """Whether a change from now on would get a later timestamp than the last change."""
        return abs(now - self.changed) > (COARSE if self.changed % 1_000_000_000 == 0 else FINE)


@dataclass(frozen=True)
class Checked:
    """Result of checking features.

    Attributes:
        content_hash: hash of all features.
        zero_rows: indices of rows that are all zeros. All rows are finite.
    """

    content_hash: str
    zero_rows: tuple[int, ...] = ()


def stamps_of(files: Sequence[Path]) -> tuple[Stamp, ...]:
    return tuple(map(Stamp.of, files))


def recall(place: Path, stamps: Sequence[Stamp]) -> Checked | None:
    """The noted result for the features at a place; None if there is no note, or it is about a different state of the
    files.
    """
    for path in _note_paths(place):
        if not path.is_file():
            continue
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            checked = Checked(str(note["content_hash"]), tuple(map(int, note["zero_rows"])))
            if note["format"] == FORMAT and note["files"] == [list(astuple(stamp)) for stamp in stamps]:
                return checked
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # an unreadable note is ignored
    return None


def remember(place: Path, stamps: Sequence[Stamp], checked: Checked) -> Path | None:
    """Store a result; returns the path of the note, or None if it cannot be written or the features are small."""
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
            write_text(path, json.dumps(note))
        except UserError:
            continue
        return path
    return None


def checked_once(
    place: Path, files: Sequence[Path], check: Callable[[], Checked], *, again: bool = False, tell: Tell | None = None
) -> Checked:
    """The noted result for features, or else the result of running `check` now, which is then noted.

    Args:
        place: the store or file.
        files: all files with their bytes.
        again: run the check regardless of the note.
        tell: called with a sentence if the check took time.
    """
    started, stamps = time.time_ns(), stamps_of(files)
    noted = None if again else recall(place, stamps)
    if noted is not None:
        return noted
    checked = check()
    if stamps_of(files) != stamps:
        raise UserError(f"{place}: changed while it was read; run the command again when no process writes to it")
    if all(stamp.settled(started) for stamp in stamps):
        path = remember(place, stamps, checked)
        size = sum(stamp.size for stamp in stamps)
        if tell and size >= WORTH_KEEPING:
            kept = (
                f"that is noted in {path}" if path else "the result cannot be stored, so every run repeats this check"
            )
            tell(f"{place}: {size / 1e9:.2f} GB checked and hashed once; {kept}")
    return checked


def _note_paths(place: Path) -> list[Path]:
    """Possible paths of a note: with the features, or in the user's cache."""
    place = place.absolute()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unseen"
    apart = f"{place.name}-{hashlib.sha256(str(place).encode()).hexdigest()[:12]}{SUFFIX}"
    return [place / IN_STORE if place.is_dir() else place.with_name(place.name + SUFFIX), home / apart]
