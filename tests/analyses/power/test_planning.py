"""Plans from runs and studies, by the command line and from Python, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_folders import probe_files, write_concept_run

import unseen as package
from unseen.analyses.power.planning import plan_power
from unseen.analyses.power.typical import SIZES, sources, typical
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.metrics.paired.power import Design
from unseen.ontology.levels import load_levels
from unseen.runs.data import Backbone
from unseen.studies.toml import find_study

CLASSES, EACH = 6, 30
Unseen = Callable[..., Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three backbones of one run, two of them alike."""
    folder = tmp_path_factory.mktemp("pilot")
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), EACH)
    centres = rng.standard_normal((CLASSES, 8))
    clean = {split: centres[y] + 0.5 * rng.standard_normal((len(y), 8)) for split in ("train", "test")}
    for name, noise in (("clear", 0.6), ("other", 0.7), ("blurred", 1.6)):
        for split, X in clean.items():
            np.savez(folder / f"{name}-{split}.npz", X=X + noise * rng.standard_normal(X.shape), y=y)
        files = (folder / f"{name}-train.npz", folder / f"{name}-test.npz")
        probe_files(*files, folder / "run", backbone=name, domain="blobs", seeds=3, shots=[4, "all"])
    return folder / "run"


def test_the_command_line_and_python_agree(run: Path, unseen: Unseen) -> None:
    answer = unseen("power", run, "--difference", "4", "--json")
    assert answer.code == 0
    record = json.loads(answer.out)
    plans = Run(run).power(0.04)
    table = plans.to_frame()
    assert [plan["dataset"] for plan in record["plans"]] == ["blobs"]
    for name, value in record["plans"][0].items():
        expected = table.iloc[0][name]
        assert (value is None and pd.isna(expected)) or value == expected, name
    assert package.power(run, 0.04).to_frame().equals(table)
    words = unseen("power", run, "--difference", "4")
    assert all(sentence in words.out.replace("\n", " ") for sentence in plans.every[0].sentences[:1])


def test_plans_are_of_what_is_asked_for(run: Path, unseen: Unseen) -> None:
    whole = plan_power(run, 0.04).every[0]
    assert (whole.design, len(whole.pairs), whole.place.shots) == (Design(CLASSES * EACH, 3), 3, None)
    pair = plan_power(run, 0.04, backbones=["clear", "other"]).every[0]
    assert [(each.first, each.second) for each in pair.pairs] == [("clear", "other")]
    assert pair.detectable < plan_power(run, 0.04, backbones=["clear", "blurred"]).every[0].detectable
    few = plan_power(run, 0.04, shots=4, probes=["logistic"], images=500, seeds=5, datasets=["blobs"], power=0.9)
    assert (few.every[0].place.shots, few.every[0].design, few.every[0].power) == (4, Design(500, 5), 0.9)
    options = ("--shots", "4", "--images", "500", "--seeds", "5", "--backbone", "clear,other", "--json")
    [record] = json.loads(unseen("power", run, "--difference", "4", *options).out)["plans"]
    same = plan_power(run, 0.04, shots=4, images=500, seeds=5, backbones=["clear", "other"]).every[0]
    assert (record["detectable"], record["images_needed"]) == (same.detectable, same.needed.images)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--difference", "0"], "--difference"),
        (["--difference", "-2"], "--difference"),
        (["--difference", "100"], "--difference"),
        (["--difference", "4", "--backbone", "clear,blured"], "blurred"),
        (["--difference", "4", "--backbone", "clear"], "--backbone"),
        (["--difference", "4", "--backbone", "clear,clear"], "--backbone"),
        (["--difference", "4", "--datasets", "blob"], "blobs"),
        (["--difference", "4", "--shots", "7"], "4, all"),
        (["--difference", "4", "--shots", "4,all"], "--shots"),
        (["--difference", "4", "--seeds", "0"], "--seeds"),
        (["--difference", "4", "--images", "1"], "images"),
        (["--difference", "4", "--concepts", "100"], "--concepts"),
    ],
)
def test_mistakes_are_one_sentence(run: Path, unseen: Unseen, options: list[str], word: str) -> None:
    answer = unseen("power", run, *options)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert word in answer.err


def test_what_is_no_pilot_is_refused(run: Path, tmp_path: Path, unseen: Unseen) -> None:
    (tmp_path / "folder").mkdir()
    assert unseen("power", tmp_path / "folder", "--difference", "1").code == 2
    assert "cog-v2" in unseen("power", "cog-v3", "--difference", "1").err
    assert "--backbone" in unseen("power", "cog-v2", "--difference", "1", "--backbone", "a,b").err
    without = write_concept_run(tmp_path / "without", [Backbone("a", ""), Backbone("b", "")], lambda *_: 0.5)
    alone = write_concept_run(tmp_path / "alone", [Backbone("a", "")], lambda *_: 0.5)
    for folder in (without, alone):
        answer = unseen("power", folder, "--difference", "1")
        assert (answer.code, answer.err.count("\n")) == (2, 1)
    for mistake in (
        {"difference": 0.5 * 100},
        {"difference": 0.04, "probes": ["knm"]},
        {"difference": 0.04, "power": 2},
    ):
        with pytest.raises(UserError):
            plan_power(run, **mistake)


def test_one_seed_is_said(run: Path, tmp_path: Path, unseen: Unseen) -> None:
    for name in ("clear", "other"):
        files = [run.parent / f"{name}-{split}.npz" for split in ("train", "test")]
        probe_files(files[0], files[1], tmp_path / "one", backbone=name, domain="blobs", seeds=1)
    plan = plan_power(tmp_path / "one", 0.04).every[0]
    assert (plan.design.seeds, plan.needed.seeds, plan.parts.seed) == (1, None, None)
    answer = unseen("power", tmp_path / "one", "--difference", "4", "--seeds", "5")
    assert (answer.code, answer.err.count("\n")) == (2, 1)


def test_studies_that_were_not_run(unseen: Unseen) -> None:
    plans = plan_power("cog-v2", 0.005)
    assert [plan.design for plan in plans.every] == [Design(50, 5, 1000)]
    assert "not networks on ImageNet" in plans.source
    rows = [each for each in typical() if (each.source, each.kind, each.shots) == ("demo", "concepts", "all")]
    assert plans.every[0].parts.image == pytest.approx(np.mean([each.pair.parts.image for each in rows]))
    answer = unseen("power", "cog-v2", "--difference", "0.5", "--concepts", "2000", "--images", "20", "--seeds", "3")
    assert "2,000 concepts × 20 test images, 3 seeds" in answer.out
    assert answer.out.splitlines()[0].startswith("Planned from typical")
    larger = plan_power(find_study("cog-v2"), 0.005, concepts=4000).every[0]
    assert larger.detectable < plans.every[0].detectable
    tasks = plan_power("ericsson-2021", 0.01, datasets=["dtd", "pets"])
    assert [plan.design for plan in tasks.every] == [Design(1880, 1), Design(3669, 1)]
    assert len(tasks.left_out) == 1
    own = plan_power("ericsson-2021", 0.01, datasets=["mine"], images=700)
    assert own.every[0].design == Design(700, 1)


@pytest.mark.parametrize(
    "request_",
    [
        {"study": "cog-v2", "datasets": ["l5"]},
        {"study": "cog-v2", "shots": 3},
        {"study": "cog-v2", "probes": ["knn"]},
        {"study": "ericsson-2021", "datasets": ["dtdd"]},
        {"study": "ericsson-2021", "concepts": 100},
        {"study": "saliency"},
        {"study": find_study("cog-v2").replace(levels="mine.csv")},
    ],
)
def test_studies_without_typical_variances_are_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        plan_power(request_.pop("study"), 0.01, **request_)


def test_typical_components_have_a_source() -> None:
    assert {each.source for each in typical()} == sources().keys()
    for each in typical():
        assert (each.kind == "concepts") == (each.pair.parts.concept is not None) == (each.pair.concepts == 45)
        assert 0 < (each.pair.parts.rest or each.pair.parts.image) < 1
    assert all(each.command.startswith("unseen ") and len(each.date) == 10 for each in sources().values())


def test_sizes_are_those_of_the_levels() -> None:
    for name in ("cog-v2", "cog-v1"):
        assert {len(level) for level in load_levels(name)} == {SIZES[name][0]}
