"""A tracker whose errors do not stop the work: the first one is said, and the tracker receives nothing more."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from unseen.errors import UserError
from unseen.text.words import printable
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Tracker

LONGEST = 300


@dataclass
class Sheltered:
    """A tracker in use; itself a `Tracker`.

    Attributes:
        title: its name in sentences.
        tell: receives the sentence about its error.
        reason: what went wrong; empty while it works.
    """

    tracker: Tracker
    title: str
    tell: Callable[[str], None]
    reason: str = ""

    def on_plan(self, plan: LoggedPlan) -> Mapping[str, str] | None:
        """Pass the plan on; a `UserError`, such as a missing login, is raised, since no work has been done yet."""
        try:
            return self.tracker.on_plan(plan)
        except UserError:
            raise
        except Exception as error:
            self._fail(error)
            return None

    def on_score(self, score: LoggedScore) -> None:
        self.attempt(lambda: self.tracker.on_score(score))

    def on_end(self, end: LoggedEnd) -> None:
        if self.reason:
            with suppress(Exception):
                self.tracker.on_end(end)
        else:
            self.attempt(lambda: self.tracker.on_end(end))

    def attempt(self, act: Callable[[], object]) -> None:
        """Do something with the tracker, unless it has failed before."""
        if not self.reason:
            try:
                act()
            except Exception as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        text = getattr(error, "strerror", None) or next(iter(str(error).strip().splitlines()), "")
        kind = "" if isinstance(error, UserError | OSError) else f"{type(error).__name__}: "
        self.reason = printable(f"{kind}{text}".strip(": ") or type(error).__name__)[:LONGEST].rstrip(".")
        self.tell(f"{self.title} receives no more scores ({self.reason}); the work goes on.")
