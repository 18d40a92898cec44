"""The search for subsets on runs: Python, the command, results files, the page, and what cannot be searched."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_subsets import MadeHits, made_hits
from shift_runs import write_shift_run

from unseen.analyses.robustness.hits import hits_of_runs, names_in
from unseen.analyses.robustness.of_runs import open_runs
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.metrics.subsets import search_subset
from unseen.probes.units import ScoredImages
from unseen.report.shifts.of_runs import page_of_runs
from unseen.report.shifts.page import write_shift_page

Unseen = Callable[..., Any]
COLUMNS = {"val": ("val", "all"), "imagenet-sketch": ("imagenet-sketch", "all")}
IMAGES, MODELS = 300, 32


def a_run(folder: Path, made: MadeHits, **more: Any) -> Path:
    """A run of models on an unshifted and a shifted test set of three classes; planted images are of the first."""
    models = [f"net-{number:02d}" for number in range(made.hits.shape[1])]
    right = np.arange(1000)[:, None] < 1000 / (1 + np.exp(-made.ability))
    names = [f"{number:03d}.png" for number in range(len(made.hits))]
    y = np.where(made.planted, 0, 1 + np.arange(len(made.hits)) % 2)
    images = {"imagenet-sketch": ScoredImages.labelled(["crow", "fox", "tree"], y, names)}
    images["val"] = ScoredImages.labelled(["crow", "fox", "tree"], np.arange(1000) % 3)
    hits = {(model, "imagenet-sketch"): made.hits[:, place] for place, model in enumerate(models)}
    hits |= {(model, "val"): right[:, place] for place, model in enumerate(models)}
    accuracy = {
        model: {"val": right[:, place].mean(), "imagenet-sketch": made.hits[:, place].mean()}
        for place, model in enumerate(models)
    }
    groups = dict(zip(models, made.groups, strict=True))
    return write_shift_run(
        folder, accuracy, columns=COLUMNS, hits=hits | more.get("hits", {}), images=images | more.get("images", {}),
        groups=groups,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made() -> MadeHits:
    return made_hits(5, images=IMAGES, models=MODELS, groups=2)


@pytest.fixture(scope="module")
def run(made: MadeHits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_run(tmp_path_factory.mktemp("subsets") / "run", made)


def test_a_run_is_searched(run: Path, made: MadeHits) -> None:
    subsets = Run(run).subsets(size=15, seed=1)
    (found,) = subsets.found
    share = np.array([model.id_accuracy[0] for model in found.models])
    plain = search_subset(made.hits, np.log(share / (1 - share)), size=15, groups=made.groups, seed=1)
    assert (found.ood, found.id_set, found.place) == ("imagenet-sketch", "val", plain.largest())
    assert (found.turns_round, found.p_holm) == (True, plain.p_values[0])
    assert found.correlation == plain.confirmed[found.place]
    assert found.accuracy[:, 1] == pytest.approx(made.hits.mean(axis=0))
    table = subsets.images()
    assert table["number"].tolist() == found.subset.tolist()
    assert table["right"].tolist() == pytest.approx(made.hits[found.subset].mean(axis=1).tolist())
    assert found.classes[0].name == "crow"
    assert found.classes[0].p_value <= 0.05
    assert found.classes[0].inside == (table["class"] == "crow").sum()
    assert subsets.to_frame().loc[0, "turns_round"]


def test_the_page_has_the_subset_in_words_where_images_are_not_reachable(run: Path, tmp_path: Path) -> None:
    page = page_of_runs([run])
    assert page.subsets is not None
    write_shift_page(page, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in text for name in ("subsets", "subsets-1", "table-subset-classes-1"))
    assert text.index('id="shifts"') < text.index('id="subsets"') < text.index('id="groups"') < text.index('id="fits"')


def test_the_command_and_exported_results_give_the_same(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    size = ("--set", "size=15")
    first = unseen("shifts", "subsets", run, *size, "--out", tmp_path / "images.csv", "--json")
    assert first.code == 0, first.err
    (search,) = json.loads(first.out)["searches"]
    images = pd.read_csv(tmp_path / "images.csv")
    assert len(images) == search["subset"]
    assert unseen("export", run, "--out", tmp_path / "results.json", "--hits").code == 0
    answer = unseen("shifts", "subsets", tmp_path / "results.json", "--id", "val", "--ood", "imagenet-sketch", *size,
                    "--out", tmp_path / "page.html", "--json")  # fmt: skip
    assert json.loads(answer.out)["searches"] == [search]
    assert 'id="subsets-1"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in (("--ood", "imagenet-sketch"), ("--id", "val", "--ood", "imagenet-s")):
        refused = unseen("shifts", "subsets", tmp_path / "results.json", *words, "--out", tmp_path / "page.html")
        assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_what_cannot_be_searched_is_one_sentence(run: Path, made: MadeHits, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no subset of 301"):
        Run(run).subsets(size=IMAGES + 1)
    two = a_run(tmp_path / "two", MadeHits(made.hits[:, :2], made.ability[:2], ["a", "a"], made.planted))
    with pytest.raises(UserError, match="at least 3 models") as refused:
        Run(two).subsets()
    assert "\n" not in str(refused.value)
    assert page_of_runs([two]).subsets is None
    few = a_run(tmp_path / "few", MadeHits(made.hits[:, :6], made.ability[:6], ["a"] * 6, made.planted))
    with pytest.raises(UserError, match="at least 8"):
        Run(few).subsets()


@pytest.mark.long_suite
def test_a_table_of_accuracies_has_no_hits(unseen: Unseen, tmp_path: Path) -> None:
    (tmp_path / "ok.csv").write_text("model,a,o\nm,1,2\n")
    answer = unseen("shifts", "subsets", tmp_path / "ok.csv", "--id", "a", "--ood", "o")
    assert (answer.code, answer.err.count("\n"), "--hits" in answer.err) == (2, 1, True)


def test_models_on_other_images_are_left_out(made: MadeHits, tmp_path: Path) -> None:
    """A second run has one model more, on other images of the same number."""
    names = [f"other-{number}.png" for number in range(IMAGES)]
    y = np.where(made.planted, 0, 1 + np.arange(IMAGES) % 2)
    others = {"imagenet-sketch": ScoredImages.labelled(["crow", "fox", "tree"], y, names)}
    hits = a_run(tmp_path / "one", made)
    alone = MadeHits(made.hits[:, :1], made.ability[:1], ["group 0"], made.planted)
    two = a_run(tmp_path / "two", alone, images=others)
    (two / "run.json").write_text((two / "run.json").read_text().replace("net-00", "other"))
    for path in (two / "results").glob("*.json"):
        path.write_text(path.read_text().replace("net-00", "other"))
    found = hits_of_runs(open_runs([hits, two]), ["imagenet-sketch"])
    assert "other" not in found["imagenet-sketch"].by_model
    assert len(found["imagenet-sketch"].by_model) == MODELS


def test_names_are_those_of_the_same_images() -> None:
    entries = [("a", "crow"), ("b", "lamp"), ("c", "fox")]
    two = ScoredImages.labelled(["crow", "fox"], np.array([0, 1]), ["a", "c"])
    assert names_in(two, entries) == ["a", "c"]
    assert names_in(ScoredImages.labelled(["crow", "fox"], np.array([0, 1]), ["a", "d"]), entries) == ()
