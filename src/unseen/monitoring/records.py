"""The folder of a monitor: what was measured, and its scores in a file that only grows.

    monitor.json    the study, the transform, and hashes of the images: what another training in this folder must share
    scores.jsonl    a line of JSON per score or failure, and after those of a check one that ends it
    pixels/         decoded images; it may be deleted at any time

A check counts when the line is there that ends it. What was written of a check that a kill or a full disk ended is
passed over, also half a line; the lines that follow begin on one of their own.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.files import write_text
from unseen.monitoring.scores import Check, Failure, StepScore
from unseen.reading.json_records import read_json, typed
from unseen.text.plain import escaped_text

SCORES, ABOUT = "scores.jsonl", "monitor.json"
FORMAT = 1
END = "check"
"""The key of the line that ends a check."""


@dataclass(eq=False)
class Records:
    """The checks of a folder, and those that could not be written to it yet.

    Attributes:
        checks: by step, in the order of steps.
    """

    folder: Path
    checks: dict[int, Check] = field(default_factory=dict)
    unwritten: list[Check] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> "Records":
        """What a folder has; a folder without checks has none."""
        path = folder / SCORES
        try:
            text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        found = {check.step: check for check in _checks(text.split("\n"))}  # a check that was repeated counts last
        return cls(folder, {step: found[step] for step in sorted(found)})

    def is_done(self, step: int) -> bool:
        """Whether a step was checked, and everything has its scores."""
        check = self.checks.get(step)
        return check is not None and all(each.of_disk for each in check.failures)

    def add(self, check: Check) -> None:
        """Add a check in memory; `write` writes it."""
        self.checks = dict(sorted({**self.checks, check.step: check}.items()))
        self.unwritten.append(check)

    def note(self, failure: Failure) -> None:
        """Add what failed to its check, which is written later."""
        check = self.checks.get(failure.step)
        if check is not None and check in self.unwritten and failure not in check.failures:
            noted = replace(check, failures=[*check.failures, failure])
            self.unwritten[self.unwritten.index(check)] = self.checks[failure.step] = noted

    def write(self) -> None:
        """Append the checks that are not written yet; an error of the disk leaves them for the next time."""
        if not self.unwritten:
            return
        path = self.folder / SCORES
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            append_lines(path, [line for check in self.unwritten for line in lines_of(check)])
        except OSError as error:
            raise UserError(
                f"{path}: cannot be written ({error.strerror or error}); the scores are kept in memory, and written "
                "when that is possible"
            ) from None
        self.unwritten.clear()


def keep_same(folder: Path, described: Mapping[str, Any]) -> None:
    """Write what a monitor measures, or refuse a folder whose scores are of something else."""
    path = folder / ABOUT
    record = {"format": FORMAT, **described}
    if path.is_file():
        before = read_json(path, "give another folder (out=)")
        present = json.loads(json.dumps(record))
        changed = [name for name in sorted({*present, *before}) if before.get(name) != present.get(name)]
        if changed:
            raise UserError(
                f"{folder}: has scores of another monitor, with another {changed[0]}; give another folder (out=), or "
                "replace=True to start anew"
            )
        return
    write_text(path, json.dumps(record, indent=1))


@dataclass(frozen=True)
class Described:
    """What a folder has scores of, as far as a page shows it.

    Attributes:
        images: data set → split → hash.
    """

    transform: Transform
    images: Mapping[str, Mapping[str, str]]


def described(folder: Path) -> Described | None:
    """What a folder has scores of; None if it does not say so."""
    path = folder / ABOUT
    if not path.is_file():
        return None
    known = read_json(path)
    return Described(
        typed(known.get("transform"), Transform, f"{path}, transform"),
        typed(known.get("images"), dict[str, dict[str, str]], f"{path}, images"),
    )


def start_anew(folder: Path) -> None:
    """Remove the scores of a folder; decoded images stay."""
    for name in (SCORES, ABOUT):
        (folder / name).unlink(missing_ok=True)


def append_lines(path: Path, lines: Sequence[str]) -> None:
    """Append lines in one write that ends on the disk; if it fails, the file is as before.

    A file that ends within a line, after a kill, gets a line end first.
    """
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = ("\n" * torn + "".join(f"{line}\n" for line in lines)).encode()
        try:
            while data:
                data = data[os.write(handle, data) :]
            os.fsync(handle)
        except OSError:
            if path.is_file():
                os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def lines_of(check: Check) -> Iterator[str]:
    """The lines of a check."""
    found: list[StepScore | Failure] = [*check.scores, *check.failures]
    for each in found:
        usual: dict[str, Any] = {of.name: of.default for of in fields(each)} | {"units": {}}
        values = {name: value for name, value in asdict(each).items() if value != usual[name]}
        yield escaped_text(json.dumps(values, ensure_ascii=False, allow_nan=False))
    ended = {"scores": len(check.scores), "failures": len(check.failures), "extraction": check.extraction}
    ended |= {"seconds": check.seconds}
    yield json.dumps({"step": check.step, END: ended})


def _checks(lines: Sequence[str]) -> Iterator[Check]:
    """The checks that were ended, in the order of the file."""
    scores, failures = list[StepScore](), list[Failure]()
    for line in lines:
        record = _record(line)
        if record is None:
            continue
        if END in record:
            ended = record[END]
            first, other = len(scores) - ended["scores"], len(failures) - ended["failures"]
            if first >= 0 and other >= 0:  # what is before them is of a check that did not end
                yield Check(
                    record["step"], scores[first:], failures[other:], ended["extraction"], ended["seconds"]
                )  # fmt: skip
            scores, failures = [], []
        elif "failed" in record:
            failures.append(Failure(**_known(record, Failure)))
        elif {"dataset", "probe", "metric", "value"} <= record.keys():
            scores.append(StepScore(**_known(record, StepScore)))


def _record(line: str) -> dict[str, Any] | None:
    """The JSON object of a line; None for anything else."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("step"), int) else None


def _known(record: Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    """The values of the fields of a class; others are from later versions."""
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in record.items() if name in names}
