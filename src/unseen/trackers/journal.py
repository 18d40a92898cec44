"""What a tracker has received from the folder of a run, so that no later call logs it twice or begins another run.

The file is `trackers/NAME-HASH.jsonl` in the folder of the run, with the hash of the word that chose the tracker. Each
part of a job array has its own file. Each line is one JSON object:

| key | meaning |
| --- | --- |
| result | key of a job whose scores were all received |
| backbone, run | the identifier that the tracker gave to the run of a backbone |

A process that is killed loses at most its last line, and then the scores of one job are logged twice.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from unseen.files import refuse_special

TRACKERS = "trackers"
"""Name of the folder with these files, in the folder of a run."""


class Journal:
    """What one tracker has received from one folder.

    Attributes:
        logged: keys of results, also of those that other parts of a job array have logged.
        ids: backbone → identifier of its run; only of the same part, since parts may run at the same time.
    """

    def __init__(self, folder: Path, word: str, part: tuple[int, int] = (1, 1)) -> None:
        start = f"{word.partition(':')[0]}-{sha256(word.encode()).hexdigest()[:8]}"
        name = start if part == (1, 1) else f"{start}-{part[0]}of{part[1]}"
        self._path = folder / TRACKERS / f"{name}.jsonl"
        self.logged = {str(line["result"]) for path in self._every(start) for line in _lines(path) if "result" in line}
        own = [line for line in _lines(self._path) if {"backbone", "run"} <= line.keys()]
        self.ids = {str(line["backbone"]): str(line["run"]) for line in own}

    def _every(self, start: str) -> Iterator[Path]:
        yield self._path
        yield from (path for path in self._path.parent.glob(f"{start}*.jsonl") if path != self._path)

    def note_result(self, key: str) -> None:
        """Write down that all scores of a result were received."""
        self.logged.add(key)
        self._write({"result": key})

    def note_ids(self, ids: Mapping[str, str]) -> None:
        """Write down identifiers of runs that are not known yet."""
        for backbone, run in ids.items():
            if self.ids.get(backbone) != run:
                self.ids[backbone] = run
                self._write({"backbone": backbone, "run": run})

    def _write(self, line: Mapping[str, str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            torn = file.tell() and not _ends_with_newline(self._path)
            file.write(b"\n" * bool(torn) + json.dumps(line).encode() + b"\n")


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() == b"\n"


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines that are whole; the last one of a killed process may not be."""
    refuse_special(path)
    with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            with suppress(ValueError):
                line = json.loads(text)
                if isinstance(line, dict):
                    yield line
