"""What commands print of a plan, and of how far they are."""

from dataclasses import replace

import pytest

from unseen.cli import watching
from unseen.cli.watching import CommandWatch
from unseen.features.progress import Progress
from unseen.runs.means import Means
from unseen.runs.notices import told
from unseen.runs.parts import Load
from unseen.studies.plan import Plan


def test_a_plan_is_a_table_with_its_totals(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [
        {"domain": "l1", "images": 1500, "features": 2_000_000, "extracted": 0.5},
        {"domain": "l2", "images": 12, "features": 3000, "extracted": 0.0},
    ]
    plan = Plan(
        "Concepts", parts, 12, 8, extraction=30, probing=4, disk=2_000_000, free=5_000_000_000, memory=1_000_000,
        notices=[told("Mind the gap.")],
    )  # fmt: skip
    CommandWatch(Means(3)).planned(plan)
    said = capsys.readouterr()
    title, columns, first, second, *totals = [line.split() for line in said.out.splitlines() if line]
    assert title == ["Concepts"]
    assert columns == ["domain", "images", "features", "extracted"]
    assert (first[:2], first[-1]) == (["l1", "1,500"], "50%")
    assert (second[:2], second[-1]) == (["l2", "12"], "0%")
    assert {"30", "2.0", "(5.0"} <= set(totals[0])
    assert "Jobs: 8 of 12 to do, about 4.0 s" in " ".join(totals[1])
    assert said.err == "Mind the gap.\n"


def test_without_extraction_nothing_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    CommandWatch().planned(Plan("x", [{"domain": "l1"}], 3, 0))
    out = capsys.readouterr().out
    assert "disk" not in out
    assert "0 of 3 to do." in out


def test_features_that_are_all_there_take_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    CommandWatch().planned(Plan("x", [{"domain": "l1"}], 8, 0, free=1000))
    assert "Features: complete." in capsys.readouterr().out


def test_jobs_to_do_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    CommandWatch(Means(2)).started(3, 4, 5.0)
    assert "3 of 4 jobs to do, about 5.0 s on" in capsys.readouterr().err
    CommandWatch(Means(2)).stage_started(3, 5.0)
    said = capsys.readouterr().err
    assert "3 jobs, about 5.0 s" in said
    assert "resumes" not in said


def test_a_part_tells_its_share(capsys: pytest.CaptureFixture[str]) -> None:
    def plan(left: int) -> Plan:
        jobs = [Load("a", 1.0, number < left) for number in range(6)] + [Load("b", 2.0, left > 6)] * 2
        jobs = [replace(job) for job in jobs]
        return Plan("x", [{"domain": "l1"}], 8, sum(job.left for job in jobs), probing=30, free=1000, loads=jobs)

    said = []
    for number in (1, 2, 3):
        CommandWatch(Means(2), (number, 3)).planned(plan(8))
        out = capsys.readouterr().out
        assert "8 of 8 to do, about 30" in out
        assert "complete" not in out
        said.append(out.splitlines()[-2].partition(": ")[2])
    assert said == ["3 of the 8 jobs, about 9.0 s.", "3 of the 8 jobs, about 9.0 s.", "2 of the 8 jobs, about 12 s."]
    watch = CommandWatch(Means(2), (2, 3))
    watch.planned(plan(3))
    assert "part 2 of 3: 3 of the 8 jobs, 1 of them to do, about 10 s." in capsys.readouterr().out
    watch.planned(plan(0))
    assert "part 2 of 3: 3 of the 8 jobs, 0 of them to do." in capsys.readouterr().out
    watch.started(27, 27, 10.0)
    assert "27 of 27 jobs of part 2 of 3 to do" in capsys.readouterr().err


def test_an_extraction_tells_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    show = CommandWatch().extracting("l1", "train")
    show(Progress(5, 10, 1.0, 0.0))
    show(Progress(10, 10, 2.0, 0.5))
    assert capsys.readouterr().err.splitlines() == [
        "l1, train: 10 of 10 images, 5.0 a second, 0.0 s left; device idle 25% of the time"
    ]


def test_steps_tell_the_time_left_from_where_they_began(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 0.0, 20.0])
    monkeypatch.setattr(watching.time, "monotonic", lambda: next(now))
    show = CommandWatch().stepping("l1, net", 100)
    show(40)  # the checkpoint
    show(50)
    assert capsys.readouterr().err == "l1, net: step 50 of 100, 1.7 min left\n"
