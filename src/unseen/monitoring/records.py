"""The scores of a monitor, in a file of its folder that only grows.

    monitor.json    what is measured (`unseen.monitoring.about`)
    scores.jsonl    one line of JSON per score or failure, and after those of a check one line that ends it
    pixels/         decoded images; it may be deleted at any time
    trackers/       what trackers have received (`unseen.trackers.journal`)

A check counts when the line is there that ends it. What was written of a check that a kill or a full disk ended is
passed over, also half a line; the lines that follow begin on one of their own. Lines that are JSON but that no monitor
has written are passed over too, and counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from unseen.errors import UserError
from unseen.monitoring.scores import Check, Failure, StepScore
from unseen.reading.json_lines import append_objects, read_objects
from unseen.reading.json_records import typed
from unseen.text.words import counted

SCORES = "scores.jsonl"
T = TypeVar("T", StepScore, Failure)
END = "check"
"""The key of the line that ends a check."""


@dataclass(frozen=True)
class End:
    """The line that ends a check, with the numbers of its lines."""

    scores: int
    failures: int
    extraction: float
    seconds: float


@dataclass(eq=False)
class Records:
    """The checks of a folder, and those that could not be written to it yet.

    Attributes:
        checks: by step, in the order of steps.
        odd: number of lines that no monitor has written.
    """

    folder: Path
    checks: dict[int, Check] = field(default_factory=dict)
    unwritten: list[Check] = field(default_factory=list)
    odd: int = 0

    @classmethod
    def read(cls, folder: Path) -> "Records":
        """What a folder has; a folder without checks has none."""
        path = folder / SCORES
        try:
            lines = read_objects(path)
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        read = [_read(line) for line in lines]
        found = {check.step: check for check in _checks(each for each in read if each)}  # the last of a repeated one
        return cls(folder, {step: found[step] for step in sorted(found)}, odd=read.count(None))

    @property
    def odd_words(self) -> str:
        """A sentence about lines that no monitor has written; empty if there are none."""
        lines = f"{counted(self.odd, 'line')} that no monitor has written {'is' if self.odd == 1 else 'are'}"
        return f"{self.folder / SCORES}: {lines} passed over." if self.odd else ""

    @property
    def done_words(self) -> str:
        """A sentence about the checks that are there; empty if there are none."""
        if not self.checks:
            return ""
        done = [step for step in self.checks if self.is_done(step)]
        words, failed = list[str](), len(self.checks) - len(done)
        if done:
            which = "which is" if len(done) == 1 else "which are"
            words.append(f"{counted(len(done), 'check')}, up to step {max(done):,}, {which} not done again")
        if failed:
            which = "which is" if failed == 1 else "which are"
            words.append(f"{counted(failed, 'check')} with failures, {which} done again at the same step")
        return f"{self.folder} has {', and '.join(words)}."

    @property
    def has_scores(self) -> bool:
        return any(check.scores for check in self.checks.values())

    def is_done(self, step: int) -> bool:
        """Whether a step was checked, and everything has its scores."""
        check = self.checks.get(step)
        return check is not None and check.is_whole

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
            append_objects(path, (line for check in self.unwritten for line in lines_of(check)), durable=True)
        except OSError as error:
            raise UserError(
                f"{path}: cannot be written ({error.strerror or error}); the scores are kept in memory, and written "
                "when that is possible"
            ) from None
        self.unwritten.clear()


def lines_of(check: Check) -> Iterator[dict[str, Any]]:
    """The lines of a check."""
    found: list[StepScore | Failure] = [*check.scores, *check.failures]
    for each in found:
        usual: dict[str, Any] = {of.name: of.default for of in fields(each)} | {"units": {}}
        yield {name: value for name, value in asdict(each).items() if value != usual[name]}
    end = End(len(check.scores), len(check.failures), check.extraction, check.seconds)
    yield {"step": check.step, END: asdict(end)}


Line = StepScore | Failure | tuple[int, End]


def _read(line: Mapping[str, Any]) -> Line | None:
    """What a line says; None if no monitor has written it."""
    try:
        if END in line:
            return typed(line.get("step"), int, "step"), typed(_known(line[END], End), End, END)
        if "failed" in line:
            failure: Failure = typed(_known(line, Failure), Failure, "failure", defaults=True)
            return failure
        score: StepScore = typed(_known(line, StepScore), StepScore, "score", defaults=True)
        _ = score.hits  # damaged ones are an error now
        return score if isfinite(score.value) else None
    except (UserError, ValueError, TypeError, KeyError):
        return None


def _known(record: Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    """The values of the fields of a class; others are from later versions."""
    return {each.name: record[each.name] for each in fields(kind) if each.name in record}


def _checks(lines: Iterator[Line]) -> Iterator[Check]:
    """The checks that were ended, in the order of the file."""
    scores, failures = list[StepScore](), list[Failure]()
    for line in lines:
        if isinstance(line, StepScore):
            scores.append(line)
        elif isinstance(line, Failure):
            failures.append(line)
        else:
            step, end = line
            own_scores, own_failures = _last(scores, end.scores, step), _last(failures, end.failures, step)
            if own_scores is not None and own_failures is not None:
                yield Check(step, own_scores, own_failures, end.extraction, end.seconds)
            scores, failures = [], []


def _last(found: Sequence[T], count: int, step: int) -> Sequence[T] | None:
    """The last ones, which the end of a check counts; None if they are not there, or are of another step.

    What is before them is of a check that did not end.
    """
    own = found[len(found) - count :] if 0 <= count <= len(found) else None
    return own if own is not None and all(each.step == step for each in own) else None
