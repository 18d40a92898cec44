"""Golden checks: processes that are killed at a result, pages without times, and recordings that differ."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from golden import MACHINE, compare_recordings
from golden_runs import surface
from golden_runs.compare import ALWAYS, SECTIONS, differences
from golden_runs.kinds import KINDS
from golden_runs.process import KILLED, call, stored_results
from golden_runs.record import page_text

WHOLE: dict[str, Any] = {
    "scores": {"run | net | trees | knn | knn-20 | top1 | all | 0": (0.1).hex()},
    "details": {"run | net": {"rate": (3.0).hex()}},
    "stores": {"run | features/trees/net-train-0": "0 1 2"},
    "arrays": {},
    "plans": {"step 1": {"parts": 1, "jobs": 2, "left": 2, "left again": 0}},
    "checks": {"second run writes nothing": True},
    "page": ["Title", "10.0%"],
}


def store_results(words: Sequence[str]) -> None:
    Path("run/results").mkdir(parents=True)
    for word in words:
        Path("unfinished").write_text(word)
        os.replace("unfinished", f"run/results/{word}.json")  # noqa: PTH105
    print(*words)
    sys.exit(3)


@pytest.mark.parametrize(("kill_at", "code", "stored"), [(0, 3, 3), (1, KILLED, 0), (2, KILLED, 1), (4, 3, 3)])
def test_a_process_is_killed_at_a_result(kill_at: int, code: int, stored: int, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    answer = call(store_results, ["a", "b", "c"], tmp_path / "place", kill_at=kill_at)
    assert (answer.code, stored_results(tmp_path / "place")) == (code, stored)
    assert answer.out == ("a b c\n" if code == 3 else "")
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_page_is_its_words_without_times_and_versions() -> None:
    page = "<style>a</style><p>Net <b>reaches</b> 81.5%.</p><script>1</script><td>2.5 min</td><td>torch 2.11.0+cpu</td>"
    page += "<td>2026-01-31 10:05 UTC</td><td>5 shots, 0.1 more</td>"
    assert page_text(page) == ["Net", "reaches", "81.5%.", "…", "torch …", "…", "5 shots, 0.1 more"]


def test_the_numbers_of_a_plan() -> None:
    said = "Title\ndata set  images\na              1\nb              2\n\nJobs: 2 × 600; 12 of 1,200 to do.\n"
    assert surface.plan(said) == {"parts": 2, "jobs": 1200, "left": 12}


def test_variants_are_of_probes() -> None:
    variants = ("knn-20", "pca-32", "mlp-linear", "detector-frozen-extended", "patch-linear")
    assert [surface._probe(each) for each in variants] == ["knn", "pca", "mlp", "detector-frozen", "patch-linear"]


def test_no_kind_names_a_place_of_this_machine() -> None:
    words = [word for make in KINDS.values() for step in make().steps for word in step.whole(1)]
    assert not [word for word in words if Path(word.partition(":")[2] or word).is_absolute()]


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("scores", {"run | net | trees | knn | knn-20 | top1 | all | 0": (0.1 + 2**-56).hex()}),
        ("scores", {}),
        ("stores", {"run | features/trees/net-train-1": "0 1 2"}),
        ("checks", {"second run writes nothing": ["results/1.json"]}),
        ("details", {"run | net": {"rate": f"{(3.5).hex()} None"}}),
        ("plans", {}),
        ("page", ["Title", "10.1%"]),
    ],
)
def test_recordings_are_compared(
    section: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, recording in (("first", WHOLE), ("second", {**WHOLE, section: value})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "levels.json").write_text(json.dumps(recording))
        (tmp_path / name / MACHINE).write_text("processor\n")
    first, second = tmp_path / "first", tmp_path / "second"
    assert compare_recordings(first, second, ["levels"], ALWAYS) == int(section in ALWAYS)
    assert f"levels, {section}: " in capsys.readouterr().out
    assert compare_recordings(first, second, ["levels"], SECTIONS) == 1
    assert compare_recordings(first, first, ["levels"], SECTIONS) == 0
    assert compare_recordings(first, first, ["levels", "linear"], SECTIONS) == 1  # never recorded


def test_a_check_that_failed_in_both_recordings_is_a_difference() -> None:
    failed = {**WHOLE, "checks": {"second run writes nothing": ["results/1.json"]}}
    assert differences(failed, failed)["checks"]
