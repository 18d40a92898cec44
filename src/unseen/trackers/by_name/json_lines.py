"""A file with one JSON object per line: the plan, each score, and the end, each named by its `event`."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unseen.files import check_file_writable
from unseen.reading.json_lines import append_objects
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Logger

FILE = "scores.jsonl"
OF_TRAINING = "tracker.jsonl"
"""The file in the folder of a monitor, whose own scores are in one that is called `scores.jsonl`."""


class JsonLines:
    """Appends to a file; each line is written at once, so that others can follow it."""

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._path = Path(where or FILE)

    def on_plan(self, plan: LoggedPlan) -> None:
        self._path = Path(self._where) if self._where else plan.folder / (FILE if plan.backbones else OF_TRAINING)
        check_file_writable(self._path)
        about = {"study": plan.study, "title": plan.title, "backbones": list(plan.backbones), "part": list(plan.part)}
        self._write("plan", about | {"jobs": plan.jobs, "left": plan.jobs_left, "settings": dict(plan.settings)})

    def on_score(self, score: LoggedScore) -> None:
        self._write("score", score.as_dict())

    def on_end(self, end: LoggedEnd) -> None:
        self._write("end", asdict(end))

    def _write(self, event: str, record: Mapping[str, Any]) -> None:
        append_objects(self._path, [{"event": event, **record}])


WHERE = f"the file; {FILE} in the folder of the run by default, {OF_TRAINING} in that of a monitor"
LOGGER = Logger("jsonl", "JSON lines", WHERE, JsonLines)
