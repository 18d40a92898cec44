"""`unseen check` on runs: whether they reproduce the published numbers of the paper's ResNet-50."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_folders import write_concept_run

from unseen.analyses.reproduction import BACKBONE
from unseen.runs.data import Backbone

Unseen = Callable[..., Any]
PRINTED = {"in1k": 0.758, "l1": 0.679, "l5": 0.520}
"""What the paper's seed reports of ResNet-50 with all samples."""


def resnet_run(folder: Path, name: str = BACKBONE, **shifts: float) -> Path:
    """A run of the published accuracies, changed by some shares."""
    accuracy = {domain: value + shifts.get(domain, 0.0) for domain, value in PRINTED.items()}
    return write_concept_run(folder, [Backbone(name, "")], lambda _, domain, __: accuracy[domain], domains=[*PRINTED])


def test_a_run_that_agrees(unseen: Unseen, tmp_path: Path) -> None:
    run = resnet_run(tmp_path / "run", l5=0.004)
    answer = unseen("check", run)
    assert answer.code == 0, answer.err
    rows = {words[0]: words for line in answer.out.splitlines() if (words := line.split()) and words[0] in PRINTED}
    assert rows["in1k"][:5] == ["in1k", "all", "75.8", "75.8", "+0.0"]
    assert rows["l5"][:5] == ["l5", "all", "52.4", "52.0", "+0.4"]
    assert {words[-1] for words in rows.values()} == {"agrees"}
    assert "All 3 accuracies agree" in answer.out
    found = json.loads(unseen("check", run, "--json").out)
    assert {row["domain"]: row["agrees"] for row in found} == dict.fromkeys(PRINTED, True)


def test_a_run_that_differs_ends_with_code_1(unseen: Unseen, tmp_path: Path) -> None:
    answer = unseen("check", resnet_run(tmp_path / "run", l5=-0.07))
    assert answer.code == 1
    assert "1 of 3 accuracies differ too much, most of all l5 with all samples" in answer.out


def test_runs_that_cannot_be_compared_are_refused_in_one_sentence(unseen: Unseen, tmp_path: Path) -> None:
    for folder, message in {
        resnet_run(tmp_path / "other", "timm:resnet50.a1_in1k"): f"only runs of {BACKBONE}",
        tmp_path: "not the folder of a run",
    }.items():
        answer = unseen("check", folder)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert message in answer.err


def test_a_run_of_other_levels_is_refused(unseen: Unseen, tmp_path: Path) -> None:
    run = write_concept_run(tmp_path / "run", [Backbone(BACKBONE, "")], lambda *_: 0.5, domains=["l1"], published="")
    answer = unseen("check", run)
    assert (answer.code, "not a run of the levels cog-v2" in answer.err) == (2, True)


def test_a_run_on_other_images_is_refused(unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unseen.papers import comparability

    run = resnet_run(tmp_path / "run")
    monkeypatch.setattr(comparability, "TEST_IMAGES", 2000)
    answer = unseen("check", run)
    assert answer.code == 2
    assert "L1 has 50,000 test images, not 2,000" in answer.err
