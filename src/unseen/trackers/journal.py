"""What a tracker has received from the folder of a run, so that no later call logs it twice or begins another run.

The file is `trackers/NAME-HASH.jsonl` in the folder of the run, with the hash of the word that chose the tracker. Each
part of a job array has its own file. Each line is one JSON object:

| key | meaning |
| --- | --- |
| result | key of a job whose scores were all received |
| backbone, run | the identifier that the tracker gave to the run of a backbone |

A process that is killed loses at most its last line, and then the scores of one job are logged twice.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from unseen.reading.json_lines import append_objects, read_objects

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
        lines = [line for path in self._every(start) for line in read_objects(path)]
        self.logged = {str(line["result"]) for line in lines if "result" in line}
        own = [line for line in read_objects(self._path) if {"backbone", "run"} <= line.keys()]
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
        append_objects(self._path, [line])
