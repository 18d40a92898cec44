"""A file with one JSON object per line: the plan, each score, and the end, each named by its `event`."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unseen.files import check_file_writable
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Logger

FILE = "scores.jsonl"


class JsonLines:
    """Appends to a file; each line is written at once, so that others can follow it."""

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._path = Path(where or FILE)

    def on_plan(self, plan: LoggedPlan) -> None:
        self._path = Path(self._where) if self._where else plan.folder / FILE
        check_file_writable(self._path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        about = {"study": plan.study, "title": plan.title, "backbones": list(plan.backbones), "part": list(plan.part)}
        self._write("plan", about | {"jobs": plan.jobs, "left": plan.jobs_left, "settings": dict(plan.settings)})

    def on_score(self, score: LoggedScore) -> None:
        self._write("score", score.as_dict())

    def on_end(self, end: LoggedEnd) -> None:
        self._write("end", asdict(end))

    def _write(self, event: str, record: Mapping[str, Any]) -> None:
        line = json.dumps({"event": event, **record}, allow_nan=False)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


LOGGER = Logger("jsonl", "JSON lines", f"the file; {FILE} in the folder of the run by default", JsonLines)
