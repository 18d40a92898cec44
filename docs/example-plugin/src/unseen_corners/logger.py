"""A kind of tracker: one line of text for each score."""

from pathlib import Path

from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Logger

FILE = "scores.txt"


class Lines:
    """Appends lines to a file."""

    def __init__(self, where: str = "") -> None:
        self._where, self._path = where, Path(where or FILE)

    def on_plan(self, plan: LoggedPlan) -> None:
        self._path = Path(self._where) if self._where else plan.folder / FILE

    def on_score(self, score: LoggedScore) -> None:
        self._write(f"{score.backbone} {score.name} {score.plotted:.4f}")

    def on_end(self, end: LoggedEnd) -> None:
        self._write(end.status)

    def _write(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


LINES = Logger("lines", "lines of text", f"the file; {FILE} in the folder of the run by default", Lines)
