"""What a tracker receives of a training: each score once, also those of an earlier training in the same folder."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from unseen.monitoring.scores import Check
from unseen.trackers.journal import Journal
from unseen.trackers.sheltered import Sheltered
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Status


@dataclass
class Logged:
    """A tracker with what it has received.

    Attributes:
        journal: of a tracker that a word names; None for an object, which receives the scores of its own training.
        scores: number of scores that it has received in this training.
    """

    tracker: Sheltered
    journal: Journal | None = None
    scores: int = 0

    def begin(self, plan: LoggedPlan) -> None:
        """Pass on what is going to be measured."""
        ids = self.tracker.on_plan(plan if self.journal is None else replace(plan, ids=self.journal.ids))
        if ids and self.journal is not None:
            journal = self.journal
            self.tracker.attempt(lambda: journal.note_ids(ids))

    def catch_up(self, checks: Iterable[Check]) -> None:
        """Pass on what earlier trainings measured and this tracker does not have."""
        for check in checks if self.journal is not None else ():
            self.pass_on(check)

    def pass_on(self, check: Check) -> None:
        """Pass on the scores of a check that it does not have; of one that is repeated, it may have some."""

        def log() -> None:
            found: dict[str, list[LoggedScore]] = {}
            for score in check.logged:
                found.setdefault(f"step {check.step}, {score.dataset}, {score.probe}", []).append(score)
            for key, scores in found.items():
                self._log(key, scores)

        self.tracker.attempt(log)

    def _log(self, key: str, scores: Iterable[LoggedScore]) -> None:
        if self.journal is not None and key in self.journal.logged:
            return
        for score in scores:
            self.tracker.tracker.on_score(score)
            self.scores += 1
        if self.journal is not None:
            self.journal.note_result(key)

    def end(self, status: Status, failures: Iterable[str]) -> None:
        """Tell that there will be no more scores."""
        self.tracker.on_end(LoggedEnd(status, self.scores, [*failures]))
