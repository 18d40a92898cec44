"""Runs a kind of work as a whole, again, in parts, and killed and resumed, and records everything it gave."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from golden_runs import surface
from golden_runs.kind import Kind
from golden_runs.process import KILLED, Answer, call, stored_results
from golden_runs.surface import Step

PARTS, ROUNDS = 2, 3
SHOWN = 4
"""Numbers of a list that are recorded as they are; of a longer one, a hash is."""


@dataclass
class Recorder:
    """Carries out a kind of work below `folder`, with so many workers.

    Attributes:
        seconds: processor time of every group of commands.
    """

    kind: Kind
    folder: Path
    workers: int
    seconds: dict[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Everything that is compared later; see `scripts/golden.py`."""
        data = self._place("data")
        _refuse(call(lambda _: self.kind.make(Path()), (), data), "making the data")
        for words in self.kind.before:
            self._run("data", words, data)
        found, stored = self._whole()
        checks: dict[str, Any] = {"second run writes nothing": self._again(found["plans"])}
        if self.kind.parts and any(step.parts for step in self.kind.steps):
            checks["two parts are the whole"] = _same(found, self._parts())
        if self.kind.kills:
            checks["killed and resumed is the same"] = _same(found, self._killed(stored))
        return {**found, "checks": checks, "page": self._pages(), "seconds": self.seconds}

    def _whole(self) -> tuple[dict[str, Any], list[int]]:
        """What was measured, and the number of results that each step stored."""
        place, plans, stored = self._place("whole"), dict[str, dict[str, int]](), list[int]()
        for number, step in enumerate(self.kind.steps, start=1):
            before = stored_results(place)
            dry = self._run("plan", step.plan(self.workers), place) if step.plans and self.kind.plans else None
            said = self._run("whole", step.whole(self.workers), place)
            if step.plans:
                plans[f"step {number}"] = surface.plan((dry or said).out)
            stored.append(stored_results(place) - before)
        return {**_measured(place), "plans": plans}, stored

    def _again(self, plans: Mapping[str, dict[str, int]]) -> bool | list[str]:
        """Run everything again; True if no file that took work is written again. Plans get the number of jobs left."""
        place = self.folder / "whole"
        worked = [step for step in self.kind.steps if (place / step.out / "results").is_dir()]
        before = _files(place, worked)
        for number, step in enumerate(self.kind.steps, start=1):
            said = self._run("again", step.whole(self.workers), place) if step in worked else None
            if said and step.plans:
                plans[f"step {number}"]["left again"] = surface.plan(said.out)["left"]
        return _differing(before, _files(place, worked)) or True

    def _parts(self) -> dict[str, Any]:
        place = self._place("parts")
        for step in self.kind.steps:
            if not step.parts:
                self._run("parts", step.whole(self.workers), place)
                continue
            for attempt in range(ROUNDS):  # a part may have to wait for features or trials of another
                last = attempt == ROUNDS - 1
                said = [
                    self._run("parts", step.part(number, PARTS, self.workers), place, may_fail=not last)
                    for number in range(1, PARTS + 1)
                ]
                if not any(each.code for each in said):
                    break
        return _measured(place)

    def _killed(self, stored: Sequence[int]) -> dict[str, Any]:
        """Kill each step after its first result, or before its only one, and run it again."""
        place = self._place("killed")
        for step, results in zip(self.kind.steps, stored, strict=True):
            if results:
                words, watched = step.whole(self.workers), self.workers > 1
                said = call(surface.run, words, place, kill_at=min(2, results), watched=watched)
                self._count("killed", said)
                if said.code != KILLED and not (watched and said.code == 0):
                    raise SystemExit(f"{' '.join(words)} was to be killed, and ended with {said.code}:\n{said.err}")
            self._run("resumed", step.whole(self.workers), place)
        return _measured(place)

    def _pages(self) -> list[str]:
        """The text of the pages of the whole run, line by line."""
        place, lines = self.folder / "whole", list[str]()
        for out in dict.fromkeys(step.out for step in self.kind.steps):
            if not (place / out / "run.json").is_file():
                continue
            if not (place / out / surface.PAGE).is_file():
                self._run("page", surface.page(out), place)
            lines += [f"== {out}", *page_text((place / out / surface.PAGE).read_text())]
        return lines

    def _place(self, name: str) -> Path:
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def _run(self, what: str, words: Sequence[str], place: Path, *, may_fail: bool = False) -> Answer:
        said = call(surface.run, words, place)
        self._count(what, said)
        if said.code and not may_fail:
            _refuse(said, " ".join(words))
        return said

    def _count(self, what: str, said: Answer) -> None:
        self.seconds[what] = round(self.seconds.get(what, 0.0) + said.seconds, 2)


def _same(whole: Mapping[str, Any], other: Mapping[str, Any]) -> bool | list[str]:
    """True, or the names of what differs."""
    return [f"{section}: {name}" for section in other for name in _differing(whole[section], other[section])] or True


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)]


def _refuse(said: Answer, what: str) -> None:
    if said.code:
        raise SystemExit(f"{what} ended with {said.code}:\n{said.out[-2000:]}\n{said.err[-4000:]}")


def _files(place: Path, steps: Iterable[Step]) -> dict[str, tuple[int, int]]:
    """Files below the folders of steps, by when they were written; pages and tables beside them are always written."""
    return {
        str(path.relative_to(place)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for out in {step.out for step in steps}
        for path in (place / out).rglob("*")
        if path.is_file() and (path.parent != place / out or path.name == "run.json")
    }


def _measured(place: Path) -> dict[str, Any]:
    """Scores, how they were obtained, features and other arrays of all runs in a working directory, by name."""
    found: dict[str, dict[str, Any]] = {"scores": {}, "details": {}, "stores": {}, "arrays": {}}
    for folder in sorted(path for path in place.iterdir() if path.is_dir()):
        out, names = folder.name, surface.details(folder)
        for score in sorted(surface.scores(folder)):
            *words, value, low, high = vars(score).values()
            numbers = " ".join(_exact(each) for each in (value, low, high) if each is not None)
            _put(found["scores"], out, map(str, words), numbers)
        for name, values in sorted(names.values(), key=lambda each: each[0]):
            _put(found["details"], out, [name], dict(sorted(_leaves(values))))
        for store in surface.stores(folder):
            _put(found["stores"], out, [store.folder], f"{store.key} {store.content} {store.rows}")
        for path in sorted(folder.rglob("*.npz")) + sorted(folder.rglob("*.safetensors")):
            parts = path.relative_to(folder).with_suffix("").parts
            for name, array in _arrays(path):
                _put(
                    found["arrays"], out, [*(names[part][0] if part in names else part for part in parts), name], array
                )
    return found


def _put(section: dict[str, Any], out: str, words: Iterable[str], value: Any) -> None:
    name = " | ".join([out, *words])
    if name in section:
        raise SystemExit(f"two of {name}: {section[name]} and {value}")
    section[name] = value


def _arrays(path: Path) -> Iterator[tuple[str, str]]:
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            yield from ((name, _digest(file[name])) for name in sorted(file.files))
    else:
        from safetensors.numpy import load_file

        yield from ((name, _digest(array)) for name, array in sorted(load_file(path).items()))


def _digest(array: Any) -> str:
    content = np.ascontiguousarray(array)
    return f"{content.dtype}{list(content.shape)} {hashlib.sha256(content.tobytes()).hexdigest()[:16]}"


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Names and texts of the numbers and words in JSON; a long list is hashed."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        texts = json.dumps([text for place, each in enumerate(value) for text in _leaves(each, str(place))])
        short = len(value) <= SHOWN and not any(isinstance(each, list | dict) for each in value)
        yield name, " ".join(map(_exact, value)) if short else hashlib.sha256(texts.encode()).hexdigest()[:16]
    else:
        yield name, _exact(value)


def _exact(value: Any) -> str:
    return value.hex() if isinstance(value, float) else str(value)


class _Text(HTMLParser):
    """The words of a page, a line for every element that has some."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines.append(" ".join(data.split()))


CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d([T ][\d:]+)?( UTC|Z)?"  # times
    r"|\d+\.\d+\.\d+[\w.+]*"  # versions
    r"|\b[\d.,]+ (ms|s|min|h|days|seconds|minutes|hours)\b"  # durations
)


def page_text(page: str) -> list[str]:
    """The words of a page, without times, versions and durations."""
    reader = _Text()
    reader.feed(page)
    return [CHANGING.sub("…", line) for line in reader.lines]
