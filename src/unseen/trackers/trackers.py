"""All trackers of one call: they receive what they do not have yet, and none can stop the work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from unseen.errors import UserError
from unseen.trackers.chosen import Chosen
from unseen.trackers.journal import Journal
from unseen.trackers.scores_of_jobs import ScoresOfJobs
from unseen.trackers.sheltered import Sheltered
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Status


@dataclass
class _Following:
    """One tracker with what it has received.

    Attributes:
        journal: None for an object that was given in Python.
        begun: whether it has the plan.
        scores: number of scores that it has received.
    """

    sheltered: Sheltered
    journal: Journal | None
    begun: bool = False
    scores: int = 0


@dataclass
class Trackers:
    """Passes the scores of a study to trackers, in the process that distributes the jobs.

    A tracker that a word names receives every score of the folder once, in this call or a later one; an object receives
    the scores that its own call measures.
    """

    chosen: Sequence[Chosen] = ()
    _following: list[_Following] = field(default_factory=list)
    _plan: LoggedPlan | None = None
    _identities: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    def begin(self, plan: LoggedPlan, tell: Callable[[str], None]) -> None:
        """Pass the plan on, if there are jobs left; otherwise a tracker gets it before its first score, if any."""
        self._plan = plan
        for chosen in self.chosen:
            journal = Journal(plan.folder, chosen.word, plan.part) if chosen.word else None
            each = _Following(Sheltered(chosen.tracker, chosen.title, tell), journal)
            self._following.append(each)
            if plan.jobs_left:
                self._begin(each)

    def catch_up(self, scores: ScoresOfJobs) -> None:
        """Pass on scores of earlier calls that a tracker does not have; parts of a job array leave this to others."""
        if self._plan is None or self._plan.part != (1, 1):
            return
        for each in self._following:
            if each.journal is not None:
                left = dict.fromkeys(key for key in scores.keys if key not in each.journal.logged and scores.has(key))
                for key in [*left]:
                    del left[key]
                    self._pass_on(each, scores, key, [*left])

    def measured(self, scores: ScoresOfJobs, key: str) -> None:
        """Pass on the scores of a job that has just been done."""
        if self._following and scores.has(key):
            for each in self._following:
                self._pass_on(each, scores, key)

    def end(self, status: Status, failures: Sequence[str] = ()) -> dict[str, str]:
        """Tell the trackers that have received anything that the work has ended.

        Returns:
            name of a tracker that failed → what went wrong.
        """
        for each in self._following:
            if each.begun:
                each.sheltered.on_end(LoggedEnd(status, each.scores, failures))
        return {each.sheltered.title: each.sheltered.reason for each in self._following if each.sheltered.reason}

    def _begin(self, each: _Following) -> None:
        assert self._plan is not None
        journal = each.journal
        ids = each.sheltered.on_plan(self._plan if journal is None else replace(self._plan, ids=journal.ids))
        each.begun = True
        if ids and journal is not None:
            each.sheltered.attempt(lambda: journal.note_ids(ids))

    def _pass_on(self, each: _Following, scores: ScoresOfJobs, key: str, without: Sequence[str] = ()) -> None:
        if not each.begun:
            self._begin(each)

        def log() -> None:
            found = [*scores.of(key, without)]
            for score in found:
                self._refuse_same_name(score)
                each.sheltered.tracker.on_score(score)
                each.scores += 1
            if found and each.journal is not None:
                each.journal.note_result(key)

        each.sheltered.attempt(log)

    def _refuse_same_name(self, score: LoggedScore) -> None:
        """Two data sets whose names differ only in hyphens, dots and underscores would be one curve."""
        identity = score.dataset, score.probe, score.metric
        known = self._identities.setdefault(score.name, identity)
        if known != identity:
            first, second = next((a, b) for a, b in zip(known, identity, strict=True) if a != b)
            raise UserError(f"{first} and {second} have the same name in trackers, {score.name}; rename one")
