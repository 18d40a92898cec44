"""Suites of data sets: runs that have all of one or a part, and where a mean of the suite is shown."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark_trees import inaturalist, vtab_lists

from studies import run_of, study_of
from unseen.analyses.core.study_leaderboard import study_leaderboard
from unseen.analyses.core.suites import SuiteScores, lacking_of, part_notices, suite_scores
from unseen.data.core.open_dataset import open_dataset
from unseen.data.registry import DATASETS, task_sets
from unseen.data.sets.vtab_1k import TASKS
from unseen.errors import OtherPartsError, UserError
from unseen.papers.suites import SUITES
from unseen.probes.finetuning.images import task_labels
from unseen.probes.many_shot import ERICSSON_2021, PROTOCOLS
from unseen.report.of_runs import report_on
from unseen.runs.data import RunData
from unseen.studies.toml import shipped_studies, shipped_study

Unseen = Callable[..., tuple[int, str, str]]
CODE = """
from torch import nn

from unseen.data.core.decoding.transform import Transform


def pixels():
    return nn.Sequential(nn.AvgPool2d(2), nn.Flatten()), Transform(size=8, resize=8)


def rows():
    return nn.Sequential(nn.AvgPool2d((2, 8)), nn.Flatten()), Transform(size=8, resize=8)
"""
LABELS = {"train": [0, 1] * 5, "val": [1, 0], "test": [0, 1, 1]}


@pytest.fixture(autouse=True)
def few_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "ericsson-2021", replace(ERICSSON_2021, steps=3))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tasks of VTAB-1k as if tiny copies were all of them, without images."""
    (tmp_path / "own.py").write_text(CODE)
    for task in TASKS:
        name = f"vtab-1k-{task.full.name}"
        counts = {part: len(labels) for part, labels in LABELS.items()}
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], counts=counts, classes=2))
    (tmp_path / "data").mkdir()
    return tmp_path


def with_lists(root: Path, *folders: str) -> Path:
    for number, folder in enumerate(folders):  # images are those of every task, so that scores differ by labels
        labels = LABELS if number % 3 else {**LABELS, "test": [1, 0, 0]}
        vtab_lists(root / "data", folder, labels)
    return root / "data"


def nets(root: Path) -> list[str]:
    return [f"{root / 'own.py'}:pixels", f"{root / 'own.py'}:rows"]


def vtab(root: Path, **keys: Any) -> RunData:
    return run_of(study_of("vtab-1k", **keys), root / "run", nets(root), data=root / "data")


def sections(folder: Path) -> dict[str, Any]:
    return {each.name: each for each in report_on([folder]).page.sections}


def test_studies_have_the_data_sets_of_their_suites() -> None:
    for name, suite in SUITES.items():
        study = shipped_study(name)
        assert study.datasets == suite.datasets
        assert {each for each in suite.datasets if each not in {"l1", "l2", "l3", "l4", "l5"}} <= {*task_sets()}
        grouped = [each for names in suite.groups.values() for each in names]
        assert not grouped or grouped == list(suite.datasets)
    assert [len(SUITES[name].datasets) for name in ("vtab-1k", "unic-15", "dinov2-fine-grained")] == [19, 15, 12]
    assert [len(names) for names in SUITES["vtab-1k"].groups.values()] == [7, 4, 8]
    assert {*SUITES} <= {*shipped_studies()}


@pytest.mark.long_suite
def test_a_whole_suite_has_its_means(root: Path) -> None:
    with_lists(root, *(task.folder for task in TASKS))
    suite = SUITES["vtab-1k"]
    run = run_of(study_of("vtab-1k"), root / "run", nets(root)[:1], data=root / "data")
    [found] = suite_scores(suite, run)
    assert (found.missing, found.partial) == ([], [])
    name = run.backbones[0].name
    by_task = {score.domain: score.value for score in run.scores if score.metric == "top1"}
    assert found.mean(name) == pytest.approx(np.mean([by_task[each] for each in suite.datasets]))
    groups = [np.mean([by_task[each] for each in names]) for names in suite.groups.values()]
    assert [*found.groups(name).values()] == pytest.approx(groups)
    assert found.mean_of_groups(name) == pytest.approx(np.mean(groups))
    assert found.mean_of_groups(name) != pytest.approx(found.mean(name), abs=1e-6)
    section = sections(root / "run")["suite-vtab-1k"]
    [table] = section.tables
    assert [column.title for column in table.columns[:6]] == [
        *("Backbone", "Natural", "Specialized", "Structured", "Mean of groups", "Mean of data sets")
    ]
    [row] = [row for row in table.rows if row.backbone == name]
    assert row.cells[5].values == (found.mean(name),)
    assert part_notices([root / "run"], run) == []
    limited = replace(run, domains=[replace(each, limit=5) for each in run.domains])
    fewer = replace(run, scored=[replace(each, images={**each.images, "test": 2}) for each in run.scored])
    for data in (limited, fewer):  # a quick look, and features of other images of the same name
        [of] = suite_scores(suite, data)
        assert (len(of.partial), of.mean(name), of.mean_of_groups(name)) == (19, None, None)
        assert lacking_of(of, {}).startswith("19 of the 19 data sets of VTAB-1k are here, 19 of them")


def test_a_part_of_a_suite_runs_and_has_no_mean(root: Path, unseen: Unseen) -> None:
    with_lists(root, "svhn", "dtd", "kitti")
    run = vtab(root)
    assert {score.domain for score in run.scores} == {"vtab-1k-svhn", "vtab-1k-dtd", "vtab-1k-kitti-distance"}
    assert sum(each.code == "not-found" for each in run.told) == 16
    [found], name = suite_scores(SUITES["vtab-1k"], run), run.backbones[0].name
    assert (len(found.missing), found.mean(name), found.mean_of_groups(name)) == (16, None, None)
    assert set(found.groups(name).values()) == {None}
    assert {score.key for score in vtab(root).scores} == {score.key for score in run.scores}
    section = sections(root / "run")["suite-vtab-1k"]
    assert all(not cell.values for row in section.tables[0].rows for cell in row.cells[1:6])
    assert "3 of the 19 data sets" in section.sentences[0]
    assert any("3 of the 19 data sets" in text for text in study_leaderboard([root / "run"]).notices)
    assert "Mean of" not in " ".join(study_leaderboard([root / "run"]).to_frame().columns)
    code, out, _ = unseen("report", root / "run", "--out", root / "page.html")
    assert code == 0
    assert "3 of the 19 data sets of VTAB-1k are here" in " ".join(out.split())


def test_parts_of_a_suite_make_a_whole(root: Path) -> None:
    with_lists(root, "svhn", "dtd")
    given: dict[str, Any] = {"backbones": nets(root)[:1], "data": root / "data"}
    with suppress(OtherPartsError):  # the first part may wait for features that the second one extracts
        run_of(study_of("vtab-1k"), root / "run", **given, part=(1, 2))
    run_of(study_of("vtab-1k"), root / "run", **given, part=(2, 2))
    run = run_of(study_of("vtab-1k"), root / "run", **given, part=(1, 2))
    assert {score.domain for score in run.scores} == {"vtab-1k-svhn", "vtab-1k-dtd"}
    assert len(part_notices([root / "run"], run)) == 1


def test_two_runs_have_a_suite_together(root: Path) -> None:
    with_lists(root, "svhn", "dtd")
    for name in ("svhn", "dtd"):
        run_of(study_of("vtab-1k", datasets=[f"vtab-1k-{name}"]), root / name, nets(root), data=root / "data")
    folders = [root / "svhn", root / "dtd"]
    [section] = [each for each in report_on(folders).page.sections if each.name == "suite-vtab-1k"]
    assert section.sentences[0].startswith("2 of the 19 data sets")
    names = [row.backbone for row in section.tables[0].rows]
    asked = report_on(folders, compare=(names[0], names[1])).page.sections
    assert [each.name for each in asked].index("suite-vtab-1k") == 1


def test_a_class_of_test_images_only_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, labels = "vtab-1k-svhn", {**LABELS, "test": [0, 1, 7, 7]}
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], classes=3, counts={"train": 10, "val": 2, "test": 4}))
    vtab_lists(root / "data", "svhn", labels)
    run = vtab(root, probes=["linear", "knn"])
    [notice] = [each for each in run.told if each.code == "classes-only-tested"]
    said = dict(notice.arguments)
    assert (said["classes"], said["images"], said["of"], notice.domain) == ("7", 2, 4, name)
    assert all(score.value <= 0.5 for score in run.scores if score.metric == "top1")
    assert {score.probe.partition("-")[0] for score in run.scores} == {"linear", "knn"}
    assert not any(each.code == "not-fitted" for each in run.told)
    beside = vtab(root, probes=["linear", "ridge"])
    [left] = [each for each in beside.told if each.code == "not-fitted"]
    assert left.domain == name
    assert str(dict(left.arguments)["reason"]).startswith("ridge ")
    with pytest.raises(UserError, match="ridge needs training images of every class"):
        run_of(study_of("vtab-1k", probes=["ridge"]), root / "other", nets(root), data=root / "data")


@pytest.mark.long_suite
def test_fine_tuning_takes_such_data(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "vtab-1k-svhn"
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], classes=3))
    vtab_lists(root / "data", "svhn", {**LABELS, "test": [0, 1, 7]})
    tuned = {"trials": 1, "steps": 2, "batch": 4}
    study = study_of(
        "vtab-1k", probes=["fine-tuned"], backbone={"weights": "random", "size": 32}, **{"fine-tuned": tuned}
    )
    run = run_of(study, root / "run", ["timm:test_vit"], data=root / "data")
    [score] = [score for score in run.scores if score.metric == "top1"]
    assert score.value <= 2 / 3
    assert [dict(each.arguments)["classes"] for each in run.told if each.code == "classes-only-tested"] == ["7"]


def test_labels_for_fine_tuning_have_every_class(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "vtab-1k-svhn"
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], classes=3))
    vtab_lists(root / "data", "svhn", {**LABELS, "test": [0, 1, 7]})
    assert task_labels(open_dataset(DATASETS[name], root / "data")).y.tolist()[-3:] == [0, 1, 2]


def test_doctor_of_a_study(root: Path, unseen: Unseen) -> None:
    with_lists(root, "svhn")
    (root / "data/vtab-1k/svhn/images/test/000002.jpg").unlink()
    with_lists(root, "dtd")
    code, out, _ = unseen("doctor", "--study", "vtab-1k", "--data", root / "data", "--json")
    assert code == 0
    rows = {row["dataset"]: row for row in json.loads(out)}
    assert list(rows) == list(SUITES["vtab-1k"].datasets)
    assert [rows[f"vtab-1k-{name}"]["state"] for name in ("dtd", "svhn", "dmlab")] == ["complete", "partial", "missing"]
    assert "000002.jpg" in rows["vtab-1k-svhn"]["advice"]
    assert rows["vtab-1k-dmlab"]["advice"].startswith("expected in vtab-1k/dmlab or dmlab/2.0.1 or dmlab; ")
    _, _, said = unseen("doctor", "--study", "vtab-1k", "--data", root / "data")
    assert "1 of 19 data sets are there, and 1 in part." in " ".join(said.split())
    code, out, _ = unseen("doctor", "--study", "unic-15", "--data", root / "data", "--json")
    rows = {row["dataset"]: row for row in json.loads(out)}
    assert len(rows) == 15
    assert rows["l5"]["state"] == "missing"
    code, _, err = unseen("doctor", "--study", "vtab-1k")
    assert (code, "--data" in err) == (2, True)


def test_a_suite_without_its_data(root: Path, unseen: Unseen) -> None:
    code, _, err = unseen("run", "vtab-1k", "--backbone", nets(root)[0], "--data", root / "data", "--out", root / "run",
                          "--allow-code")  # fmt: skip
    assert code == 2
    said = " ".join(err.split())
    assert "19 of the 19 data sets were not found; unseen doctor --study vtab-1k" in said
    assert len(said) < 200
    assert not (root / "run/run.json").exists()


def test_levels_without_images_are_left_out_of_a_suite(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inaturalist(root / "data", few=4)
    name = "inaturalist-2018"
    counts = {"train": 10, "val": 2, "test": 6}
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], classes=2, counts=counts))
    study = study_of("unic-15", seeds=1, shots=[1], logistic={"protocol": "cog-v2-short"})
    run = run_of(study, root / "run", nets(root)[:1], data=root / "data")
    assert {score.domain for score in run.scores} == {name}
    left = [each.domain for each in run.told if each.code == "not-found"]
    assert run.notice.count("Not found, so left out") == 1
    assert {*left} == {*SUITES["unic-15"].datasets} - {name}
    [found] = suite_scores(SUITES["unic-15"], run)
    assert isinstance(found, SuiteScores)
    assert found.present == [name]
