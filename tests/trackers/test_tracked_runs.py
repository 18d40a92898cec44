"""What trackers receive from a run: every score once, however often and with whatever failures the run is made."""

import errno
import json
import os
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from tracked_runs import Heard, Notebook, tracked_run

from unseen.errors import UserError
from unseen.exchange.export import run_records
from unseen.runs.notices import NOT_LOGGED
from unseen.runs.record import read_run
from unseen.trackers.journal import Journal
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore
from unseen.trackers.trackers import Trackers


def lines(path: Path, event: str = "score") -> list[dict[str, Any]]:
    return [line for text in path.read_text().splitlines() if (line := json.loads(text))["event"] == event]


def identities(scores: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((each["probe"], each["shots"], each["seed"], each["metric"], each["value"]) for each in scores)


def on_disk(out: Path) -> Counter[tuple[Any, ...]]:
    return Counter((each.probe, each.shots, each.seed, each.metric, each.value) for each in read_run(out).scores)


def test_every_score_of_a_folder_is_logged_once(tmp_path: Path) -> None:
    out, log, own = tmp_path / "run", tmp_path / "run" / "scores.jsonl", Notebook()
    tracked_run(out, "jsonl", own)
    assert identities(lines(log)) == on_disk(out)
    assert len(own.scores) == len(lines(log)) == 6
    [plan] = lines(log, "plan")
    assert (plan["study"], plan["backbones"], plan["jobs"], plan["left"]) == ("test", ["net"], 3, 3)
    assert plan["settings"]["knn.k"] == 20
    assert plan["settings"]["shots"] == "2, all"
    assert lines(log, "end") == [{"event": "end", "status": "finished", "scores": 6, "failures": []}]

    before = log.read_text()
    tracked_run(out, "jsonl")
    assert log.read_text() == before  # a finished run: not even a plan

    other, again = tmp_path / "all.jsonl", Notebook()
    tracked_run(out, "jsonl", f"jsonl:{other}", again, seeds=3)
    assert len(lines(log)) == 8
    assert identities(lines(log)) == identities(lines(other)) == on_disk(out)
    assert {each.seed for each in again.scores} == {2}  # an object has what its own call measured
    [last] = [each for each in again.scores if each.metric == "top1"]
    values = [each.value for each in read_run(out).scores if (each.shots, each.metric) == (2, "top1")]
    assert (last.mean, last.plotted, last.place, last.seeds) == (pytest.approx(mean(values)), last.mean, 3, 3)
    few = [each for each in lines(other) if (each["shots"], each["metric"]) == (2, "top1")]
    assert [each["seeds"] for each in few] == [1, 2, 3]  # the means grow, also of scores that were there
    assert [each["mean"] for each in few] == [None, pytest.approx(mean(values[:2])), pytest.approx(mean(values))]


def test_parts_log_what_they_measure_and_the_whole_logs_the_rest(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "run" / "scores.jsonl"
    for number in (1, 2):
        tracked_run(out, "jsonl", part=(number, 2), seeds=3)
    assert identities(lines(log)) == on_disk(out)
    assert {tuple(each["part"]) for each in lines(log, "plan")} == {(1, 2), (2, 2)}
    few = [each for each in lines(log) if (each["shots"], each["metric"]) == (2, "top1")]
    assert max(each["seeds"] for each in few) == 3  # a mean has the seeds of other parts too
    tracked_run(out, "jsonl", seeds=3)
    assert identities(lines(log)) == on_disk(out)


class Broken(Notebook):
    """Fails at its second score, as on a full disk."""

    def on_score(self, score: LoggedScore) -> None:
        super().on_score(score)
        if len(self.scores) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")


def test_a_tracker_that_fails_does_not_stop_the_run(tmp_path: Path) -> None:
    out, heard, broken, own = tmp_path / "run", Heard(), Broken(), Notebook()
    run = tracked_run(out, broken, own, watch=heard)
    assert len(run.scores) == len(own.scores) == 6
    assert len(broken.scores) == 2
    assert len(broken.ends) == 1  # so that it can close what is open
    [notice] = [each for each in read_run(out).told if each.code == NOT_LOGGED]
    assert not [each for record in run_records(read_run(out)) for each in record.notices]  # it is not about scores
    assert dict(notice.arguments) == {"tracker": "Broken", "reason": "No space left on device"}
    assert len([each for each in heard.sentences if "No space left" in each]) == 1
    tracked_run(out)
    assert NOT_LOGGED in {each.code for each in read_run(out).told}  # a call without trackers says nothing of them
    tracked_run(out, Notebook())
    assert NOT_LOGGED not in {each.code for each in read_run(out).told}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_a_full_disk_is_said_and_missing_scores_are_logged_later(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log.jsonl"
    log.symlink_to("/dev/full")
    heard = Heard()
    tracked_run(out, f"jsonl:{log}", watch=heard)
    assert len([each for each in heard.sentences if "No space left" in each]) == 1
    assert len(read_run(out).scores) == 6
    log.unlink()
    tracked_run(out, f"jsonl:{log}")
    assert identities(lines(log)) == on_disk(out)


@pytest.mark.long_suite
def test_a_killed_process_logs_the_rest_later(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "run" / "scores.jsonl"

    class Killing(Notebook):
        def on_score(self, score: LoggedScore) -> None:
            if log.read_text().count('"score"') > 2:
                os._exit(9)

    process = get_context("fork").Process(target=tracked_run, args=(out, "jsonl", Killing()))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert 0 < len(lines(log)) < 6
    tracked_run(out, "jsonl")
    assert identities(lines(log)) == on_disk(out)


def test_an_interrupted_run_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, own = tmp_path / "run", Notebook()

    def stop(score: LoggedScore) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(own, "on_score", stop)
    with pytest.raises(KeyboardInterrupt):
        tracked_run(out, own)
    assert [each.status for each in own.ends] == ["interrupted"]


def test_a_mistake_that_is_known_before_the_work_stops_it(tmp_path: Path) -> None:
    class Refusing(Notebook):
        def on_plan(self, plan: LoggedPlan) -> None:
            raise UserError("not logged in")

    own = Notebook()
    with pytest.raises(UserError, match="^not logged in$"):
        tracked_run(tmp_path / "run", own, Refusing())
    assert own.ends == [LoggedEnd("failed", 0, ["not logged in"])]
    assert not (tmp_path / "run" / "results").exists()


def test_names_that_trackers_cannot_tell_apart_are_not_mixed() -> None:
    both = Trackers()
    both._refuse_same_name(LoggedScore("a-b", "knn", "top1", 0.5))
    both._refuse_same_name(LoggedScore("a-b", "knn", "top1", 0.6, seed=1))
    with pytest.raises(UserError, match="a-b and a_b"):
        both._refuse_same_name(LoggedScore("a_b", "knn", "top1", 0.5))


def test_a_torn_line_of_a_journal_is_no_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "wandb:x")
    journal.note_result("k1")
    journal.note_ids({"net": "id1"})
    [path] = (tmp_path / "trackers").iterdir()
    with path.open("a") as file:
        file.write('{"result": "k')
    torn = Journal(tmp_path, "wandb:x")
    assert (torn.logged, torn.ids) == ({"k1"}, {"net": "id1"})
    torn.note_result("k2")
    assert Journal(tmp_path, "wandb:x").logged == {"k1", "k2"}
    assert Journal(tmp_path, "wandb:y").logged == set()
    assert Journal(tmp_path, "wandb:x", (2, 3)).logged == {"k1", "k2"}
    assert Journal(tmp_path, "wandb:x", (2, 3)).ids == {}
