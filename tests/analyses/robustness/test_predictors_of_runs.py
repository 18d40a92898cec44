"""What runs of shifts know of their models: severity, agreement, and their comparison, on the page and the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from prediction_runs import ANIMALS, IMAGES, write_prediction_run

from unseen.analyses.robustness.predictors_of_runs import predictors_of_folder, severity_of_folder
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.metrics.agreement import agreement_line, expected_accuracy
from unseen.metrics.severity import severity_difference
from unseen.ontology.class_distances import class_distances
from unseen.studies.shifts.predictions import read_predictions

Unseen = Callable[..., Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_prediction_run(tmp_path_factory.mktemp("runs") / "run")


def test_severity_is_that_of_the_stored_predictions(run: Path) -> None:
    made = read_predictions(run / "predictions/val.npz")
    distances = class_distances(ANIMALS)
    found = severity_of_folder(run, "val")
    assert (found.source, found.note, found.images) == ("WordNet 3.0", "", IMAGES)
    table = Run(run).severity("val").set_index("model")
    for model, guess in made.items():
        if model != "labels":
            wrong = guess != made["labels"]
            for by, matrix in distances.by.items():
                own = matrix[made["labels"], guess][wrong]
                assert table.loc[model, f"lca-{by}"] == pytest.approx(own.mean())
                low, high = table.loc[model, [f"{by}_low", f"{by}_high"]]
                assert low < own.mean() < high if model in found.compared(by) else np.isnan([low, high]).all()
            assert table.loc[model, "mistakes"] == wrong.sum()
    apart = severity_difference(found.values["net-0"]["depth"], found.values["net-1"]["depth"])
    assert apart is not None
    assert apart.value == pytest.approx(table.loc["net-0", "lca-depth"] - table.loc["net-1", "lca-depth"])
    best, tied = found.least_severe("depth") or ("", [])
    assert best == table["lca-depth"].idxmin()
    assert "net-1" in tied or table.loc["net-1", "depth_low"] > table.loc[best, "lca-depth"]


def test_all_predictors_are_compared(run: Path) -> None:
    found = predictors_of_folder(run)
    assert found.study is not None
    names = [score.candidate.name for score in found.study.overall]
    severities = [f"severity ({by})" for by in ("information", "depth")]
    assert names[:5] == ["val", "agreement (line)", "agreement (refined)", *severities]
    assert {f"val + {name}" for name in severities} < {*names}
    assert (found.study.held_out, found.study.overall[0].groups, found.study.overall[0].models) == ("groups", 4, 16)
    frame = Run(run).predictors().to_frame()
    assert {*frame["ood"]} == {"imagenet-sketch", "imagenet-r", "(average)"}
    # Agreement is no fit: its error is that of its estimates.
    known, shifted = (read_predictions(run / f"predictions/{name}.npz") for name in ("val", "imagenet-r"))
    models = [name for name in known if name != "labels"]
    on_id, on_ood = (np.stack([of[name] for name in models]) for of in (known, shifted))
    estimate = expected_accuracy(agreement_line(on_id, on_ood), (on_id == known["labels"]).mean(axis=1))
    error = 100 * np.abs(estimate - (on_ood == shifted["labels"]).mean(axis=1)).mean()
    row = frame[(frame.ood == "imagenet-r") & (frame.predictor == "agreement (line)")]
    assert row["error"].item() == pytest.approx(error)


def test_the_page_and_the_command_show_them(run: Path, unseen: Unseen, tmp_path: Path) -> None:
    from unseen.report.shifts.of_runs import page_of_runs
    from unseen.report.shifts.page import shift_page

    sections = {section.name: section for section in shift_page(page_of_runs([run])).sections}
    assert len(sections["severity"].tables[0].rows) == 16
    assert len(sections["predictors"].tables[0].rows) == len(predictors_of_folder(run).study.overall)  # type: ignore[union-attr]
    answer = unseen("shifts", "predictors", run, "--set", "hierarchy=wordnet", "--out", tmp_path / "table.csv")
    assert answer.code == 0
    assert len(pd.read_csv(tmp_path / "table.csv")) == len(Run(run).predictors().to_frame())
    assert unseen("shifts", "predictors", run, "--id", "val").code == 2


def test_other_hierarchies(run: Path, tmp_path: Path) -> None:
    taxonomy = tmp_path / "own.csv"
    pairs = [f"{name},{'animal' if place < 5 else 'thing'}" for place, name in enumerate(ANIMALS)]
    taxonomy.write_text("\n".join(["child,parent", *pairs]))
    found = severity_of_folder(run, "val", str(taxonomy))
    assert found.source == "own.csv"
    assert {*np.unique(found.values["net-0"]["depth"][~np.isnan(found.values["net-0"]["depth"])])} <= {1, 2}
    rng = np.random.default_rng(0)
    y = np.arange(80) % 8
    centres = np.repeat(np.eye(3)[[0, 1, 2]], [3, 2, 3], axis=0) + 0.1 * rng.normal(size=(8, 3))
    np.savez(tmp_path / "features.npz", X=centres[y].astype(np.float32), y=np.array(ANIMALS)[y])
    found = severity_of_folder(run, "val", f"k-means:{tmp_path / 'features.npz'}")
    assert found.by == ("depth",)
    assert found.source == "k-means on the class means of features.npz"
    assert predictors_of_folder(run, hierarchy=f"k-means:{tmp_path / 'features.npz'}").study is not None


@pytest.mark.parametrize(
    "hierarchy", ["wordnets", "k-means:net-99", "k-means:net-0", "missing.csv"], ids=["name", "model", "logits", "file"]
)
def test_hierarchies_that_are_not_there(run: Path, hierarchy: str) -> None:
    with pytest.raises(UserError) as error:
        severity_of_folder(run, "val", hierarchy)
    assert "\n" not in str(error.value)
    with pytest.raises(UserError):
        severity_of_folder(run, "vals")


def test_bad_taxonomies_are_one_sentence(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    for text in ("child,parent\na,b\nb,a\n", "child,parent\na,b\n", "name\na\n"):
        path.write_text(text)
        with pytest.raises(UserError) as error:
            severity_of_folder(run, "val", str(path))
        assert "\n" not in str(error.value)


def test_no_mistakes_and_classes_that_are_no_concepts(tmp_path: Path) -> None:
    """A model without mistakes has no severity, and is named; without concepts or logits there is no hierarchy."""
    perfect = write_prediction_run(tmp_path / "perfect", perfect=True)
    found = predictors_of_folder(perfect)
    assert found.severities[0].mean("net-0", "depth") is None
    assert any("net-0" in sentence for sentence in found.notices)
    assert found.study is not None
    assert found.study.overall[0].models == 15
    table = Run(perfect).severity("val").set_index("model")
    assert np.isnan(table.loc["net-0", "lca-depth"])
    other = write_prediction_run(tmp_path / "other", classes=[f"kind {letter}" for letter in "abcdefgh"])
    found = predictors_of_folder(other)
    assert (found.severities, len(found.notices)) == ((), 1)
    assert found.study is not None
    assert not any("severity" in score.candidate.name for score in found.study.scores)


def test_runs_without_predictions_say_so(tmp_path: Path) -> None:
    """As of earlier versions: the comparison has what accuracies give, and says what is lacking."""
    folder = write_prediction_run(tmp_path / "run")
    for path in (folder / "predictions").iterdir():
        path.unlink()
    found = predictors_of_folder(folder)
    assert found.study is not None
    assert [score.candidate.name for score in found.study.overall] == ["val", "(no predictor)"]
    assert len(found.notices) == len(found.study.notices) == 1
    with pytest.raises(UserError):
        severity_of_folder(folder, "val")


def test_predictions_of_other_classes_are_refused(tmp_path: Path) -> None:
    folder = write_prediction_run(tmp_path / "run", models=8)
    made = dict(read_predictions(folder / "predictions/val.npz"))
    made["net-1"] = made["net-1"] + 1
    np.savez(folder / "predictions/val.npz", **made)
    with pytest.raises(UserError, match="8 classes"):
        severity_of_folder(folder, "val")
    assert json.loads((folder / "run.json").read_text())
