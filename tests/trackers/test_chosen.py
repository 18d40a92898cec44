"""Which trackers words choose, in Python and on the command line."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tracked_runs import Notebook, features, tracked_run

import unseen as package
from unseen.errors import UserError
from unseen.extras import EXTRAS, MissingExtraError
from unseen.trackers.by_name import all_loggers
from unseen.trackers.chosen import choose


def test_words_and_objects() -> None:
    own = Notebook()
    found = choose(["jsonl:a:b.jsonl", "jsonl", own, "jsonl", own])
    assert [each.word for each in found] == ["jsonl:a:b.jsonl", "jsonl", ""]
    assert found[2].tracker is own
    assert [each.word for each in choose("jsonl")] == ["jsonl"]
    assert choose(own)[0].title == "Notebook"
    for wrong in ("jsonnl", 3, [None]):
        with pytest.raises(UserError):
            choose(wrong)  # type: ignore[arg-type]


def test_no_package_is_imported_unless_asked_for() -> None:
    code = (
        "import sys; from unseen.trackers.chosen import choose;"
        "choose(['jsonl', 'wandb', 'mlflow:x', 'tensorboard:y']);"
        "print({'wandb', 'mlflow', 'tensorboard', 'torch'} & {*sys.modules})"
    )
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout == "set()\n"


@pytest.mark.parametrize("name", ["mlflow", "tensorboard", "wandb"])
def test_a_missing_package_is_one_sentence_with_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = all_loggers()[name]
    monkeypatch.setitem(sys.modules, logger.needs, None)
    with pytest.raises(MissingExtraError) as raised:
        choose([f"{name}:there"])
    assert str(raised.value).count("\n") == 0
    assert all(part in str(raised.value) for part in (f"the extra {EXTRAS[logger.needs][1]}", f"progress='{name}'"))


def test_wrong_trackers_are_refused_before_any_work(
    unseen: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("run", "ericsson-2021", "--features", tmp_path, "--out", tmp_path / "run", "--log")
    monkeypatch.setitem(sys.modules, "wandb", None)
    for word in ("wand", "wandb:x", "jsonl,wandb"):
        answer = unseen(*words, word)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "run").exists()


def test_from_the_command_line_and_in_python(unseen: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "features" / "dtd").mkdir(parents=True)
    for path in features(tmp_path).values():
        path.rename(tmp_path / "features" / "dtd" / path.name)
    (tmp_path / "features/dtd/val.npz").write_bytes((tmp_path / "features/dtd/test.npz").read_bytes())
    out = tmp_path / "run"
    words = ("--datasets", "dtd", "--probes", "knn", "--shots", "all", "--seeds", 1, "--workers", 1)
    answer = unseen("run", "ericsson-2021", "--features", tmp_path / "features", *words, "--out", out, "--log", "jsonl")
    assert answer.code == 0, answer.err
    assert (out / "scores.jsonl").read_text().count('"event": "score"') == 2
    own = Notebook()
    study = package.study(out)
    places: dict[str, Any] = {"features": tmp_path / "features", "out": out}
    package.run(study, progress=[own, "jsonl"], **places)
    assert own.scores == []
    package.run(study.replace(shots=[1]), progress=own, **places)
    assert {each.study for each in own.plans} == {"ericsson-2021"}  # not that of the file, study
    assert [each.name for each in own.scores] == ["dtd/knn_20/1_shot/top1", "dtd/knn_20/1_shot/top5"]


def test_a_file_that_cannot_be_written_is_named_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for where in (tmp_path / "file" / "y.jsonl", tmp_path):
        with pytest.raises(UserError, match=str(where)):
            tracked_run(tmp_path / "run", f"jsonl:{where}")
    assert not (tmp_path / "run" / "results").exists()
