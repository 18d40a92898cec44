"""`import unseen`: what it loads, and how the things it gives show themselves."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axis_folders import write_task_run
from PIL import Image
from run_folders import write_concept_run

import unseen
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.features.patches import PatchFeatures
from unseen.runs.data import Backbone

BACKBONE = """
import torch
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform

def tiny():
    transform = Transform(8, resize=8, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    module = torch.nn.Sequential(torch.nn.AvgPool2d(2), torch.nn.Flatten())
    return Backbone(Spec("tiny", "none", "output", "none", 48, 0, transform), module)
"""


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, unseen; dir(unseen); print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"torch", "numpy", "pandas", "rich", "plotly", "matplotlib", "scipy"} & set(said.split())


def test_levels_and_similarities_need_no_torch() -> None:
    code = """
import sys, unseen
unseen.levels("cog-v2").to_frame()
unseen.similarity("tabby.n.01", "malamute.n.01")
unseen.probes.KNN(k=5)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_everything_public_is_documented() -> None:
    for name in unseen.__all__:
        if name not in {"__version__", "probes"}:
            found = getattr(unseen, name)
            assert callable(found)
            documented = "".join(each.__doc__ or "" for each in (found, found.__init__))  # a class has two
            assert all(part in documented for part in ("Args:", "Example:")), name
    with pytest.raises(AttributeError, match="nothing"):
        _ = unseen.nothing


def test_levels_show_themselves(tmp_path: Path) -> None:
    levels = unseen.levels("cog-v2")
    assert len(repr(levels)) < 100
    frame = levels.to_frame()
    assert frame.shape == (5000, 7)
    assert frame.groupby("level").size().tolist() == [1000] * 5
    assert levels._repr_html_().count("<tr") == 6
    assert levels.plot()._repr_png_().startswith(b"\x89PNG")
    levels.plot().save(tmp_path / "levels.svg")
    assert "<svg" in (tmp_path / "levels.svg").read_text()


def test_levels_of_ones_own() -> None:
    mine = unseen.build_levels(seen=["tabby.n.01", "malamute.n.01"], levels=3, size=50)
    assert [len(level) for level in mine] == [50] * 3
    first = mine[1][0]
    assert first.similarity == pytest.approx(unseen.similarity(first.wnid, first.nearest))
    assert "level 1" in mine.explain(first.wnid)
    assert len(repr(mine)) < 100
    values = mine.to_frame()["similarity"]
    assert values.is_monotonic_decreasing
    with pytest.raises(UserError, match="counts"):
        unseen.build_levels(seen=["tabby.n.01"], min_images=10)
    with pytest.raises(UserError, match="spread must be"):
        unseen.build_levels(seen=["tabby.n.01"], settings={"spread": "wide"})
    with pytest.raises(UserError, match="tabby"):
        unseen.build_levels(seen=["tabbby.n.01"])


def test_concepts_are_given_by_id_by_name_or_by_a_word_with_one_meaning(tmp_path: Path) -> None:
    mine = unseen.build_levels(seen=["tabby.n.01", "tiger_cat.n.02"], levels=2, size=5)
    assert "n02122298 (kitty.n.04) is in level 1" in mine.explain("kitty.n.04")
    assert mine.explain("kitty.n.04") == mine.explain("n02122298")
    assert "is a seen concept" in mine.explain("tabby.n.01")
    assert "not in the universe" in mine.explain("entity.n.01")
    with pytest.raises(UserError, match="kittyy"):
        mine.explain("kittyy.n.04")
    assert unseen.similarity("malamute", "siberian_husky.n.01") == unseen.similarity("n02110063", "n02110185")
    # Images counted by name: a concept with enough of them stays.
    cats = ["kitty.n.04", "persian_cat.n.01", "siamese_cat.n.01"]
    counted = unseen.build_levels(
        seen=["tabby.n.01"], universe=cats, levels=1, size=2, min_images=5, counts={"kitty.n.04": 5, "n02123394": 9},
        exclude_subtrees="dog.n.01",
    )  # fmt: skip
    assert {concept.name for concept in counted[1]} == {"persian_cat.n.01", "kitty.n.04"}
    with pytest.raises(UserError, match="kittyy"):
        unseen.build_levels(seen=["tabby.n.01"], counts={"kittyy.n.04": 5})
    with pytest.raises(UserError, match="twice"):
        unseen.build_levels(seen=["tabby.n.01"], counts={"kitty.n.04": 5, "n02122298": 5})


def test_levels_of_ones_own_taxonomy(tmp_path: Path) -> None:
    lines = ["child,parent", *(f"{kind}{i},{kind}" for kind in ("finch", "hawk", "moss") for i in range(6))]
    (tmp_path / "tree.csv").write_text("\n".join([*lines, "finch,bird", "hawk,bird", "bird,life", "moss,life"]))
    mine = unseen.build_levels(seen=["finch0"], taxonomy=tmp_path / "tree.csv", levels=2, size=5)
    assert "finch1" in mine.explain("finch1")
    with pytest.raises(UserError, match="finch9"):
        mine.explain("finch9")
    assert {concept.name[:5] for concept in mine[1]} == {"finch"}
    assert {concept.name[:4] for concept in mine[2]} == {"moss"}


def test_the_example_is_real_and_the_callers_own() -> None:
    X_train, y_train, X_test, y_test = unseen.example("l5", backbone="pixels")
    assert (X_train.shape, X_test.shape) == ((3600, 784), (900, 784))
    assert len(set(y_train)) == len(set(y_test)) == 45
    X_train[:] = 0
    assert unseen.example("l5", backbone="pixels").X_train.any()
    assert np.array_equal(unseen.example("L5", backbone="Pixels").X_test, X_test)
    with pytest.raises(UserError, match="l5"):
        unseen.example("l6")


def test_features_of_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(BACKBONE)
    net = unseen.load_backbone(f"{tmp_path / 'tiny.py'}:tiny", device="cpu")
    data = unseen.open_dataset("digits")
    first = unseen.extract(net, data, tmp_path / "features", workers=0)
    assert {split: len(part) for split, part in first.items()} == dict(data.dataset.counts)
    assert first["train"].dimension == 48
    assert all(len(repr(each)) < 200 for each in (net, data, first["train"]))
    result = unseen.probe(first["train"].X[:], first["train"].y, first["test"].X[:], first["test"].y, probe="knn")
    assert result.scores[0].value > 0.8
    stores = {path: path.stat().st_mtime_ns for path in (tmp_path / "features").rglob("*.npy")}
    half = unseen.extract(net, data, tmp_path / "part", workers=0, part=(2, 2))
    assert half == {}  # each split is one shard, which is the first part's
    again = unseen.extract(net, data, tmp_path / "features", workers=0)
    assert np.array_equal(again["test"].X[:], first["test"].X[:])
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "features").rglob("*.npy")} == stores


def test_features_of_patches_are_those_of_a_backbone_that_was_loaded_with_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(3):
        (tmp_path / f"images/{number % 2}").mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"images/{number % 2}/{number}.png")
    load = partial(unseen.load_backbone, "timm:test_vit", size=64, weights="random", device="cpu")
    images = {"data": tmp_path / "images", "workers": 0, "progress": False}
    for patches, positions in ((True, 16), (5, 5)):
        settings = {"backbone": {"patches": "all" if patches is True else patches}}
        found = unseen.extract(load(), out=tmp_path / "one", settings=settings, **images)["all"]  # type: ignore[arg-type]
        expected = unseen.extract(load(patches=patches), out=tmp_path / "other", **images)["all"]  # type: ignore[arg-type]
        assert isinstance(found, PatchFeatures)
        assert isinstance(expected, PatchFeatures)
        assert (found.grid, found.positions, found.X.dtype) == ((4, 4), positions, np.float16)
        assert found.drawn == expected.drawn
        assert found.content_hash == expected.content_hash
        assert np.array_equal(found.image(1), expected.image(1))
        assert found.place.name == expected.place.name
    with pytest.raises(UserError, match="cannot draw 17 of 16 patches"):
        unseen.extract(load(), out=tmp_path / "one", settings={"backbone": {"patches": 17}}, **images)  # type: ignore[arg-type]


def test_published_numbers_and_the_leaderboard(tmp_path: Path) -> None:
    board = unseen.leaderboard(by="effective")
    assert len(repr(board)) < 1000
    assert board._repr_html_().count("<tr") == 32
    assert board.to_frame()["rank"].is_monotonic_increasing
    assert set(board.to_frame()["model"]) == set(unseen.published("cog-v2")["model"])
    run = write_concept_run(tmp_path / "run", [Backbone("mine", "yours")], lambda *_: 0.5)
    assert unseen.leaderboard(run, shots="all").to_frame().query("yours")["model"].tolist() == ["mine"]
    with pytest.raises(UserError, match="by must be one of"):
        unseen.leaderboard(by="l6")  # type: ignore[arg-type]


def test_effective_robustness_of_a_table() -> None:
    rng = np.random.default_rng(0)
    inside = rng.uniform(0.3, 0.8, 20)
    table = pd.DataFrame({"model": [f"m{i}" for i in range(20)], "in": inside, "out": 0.8 * inside})
    study = unseen.effective_robustness(table, id="in", ood="out", minimum={"in": 0.35}, settings={"resamples": 50})
    frame = study.to_frame()
    assert len(frame) == (inside >= 0.35).sum()
    assert (frame["accuracy"] - frame["expected"]).to_numpy() == pytest.approx(frame["rho"].to_numpy())
    assert repr(study).startswith("Robustness(in → out")
    assert len(repr(study)) < 1000
    assert "<table" in study._repr_html_()
    chart = study.plot("out")
    _, points = chart.series
    assert list(points.x) == list(frame["expected"])
    assert list(points.y) == list(frame["accuracy"])
    assert sum(bool(text) for text in points.labels) == 5
    with pytest.raises(UserError, match="no OOD test set"):
        study.plot("in")


def test_effective_robustness_of_a_file(tmp_path: Path) -> None:
    inside = np.random.default_rng(0).uniform(0.3, 0.8, 20).round(6)
    table = pd.DataFrame({"model": [f"m{i}" for i in range(20)], "in": inside, "out": (0.8 * inside).round(6)})
    path = tmp_path / "accuracies.csv"
    table.to_csv(path, index=False)
    frame, *others = (
        unseen.effective_robustness(given, id="in", ood="out", settings={"resamples": 50}).to_frame()
        for given in (table, path, str(path))
    )
    assert all(other.equals(frame) for other in others)


def test_a_study_of_features(tmp_path: Path) -> None:
    levels = {"l1": ["n02124075", "n02125311", "n02128385"], "l2": ["n02958343", "n03417042", "n04467665"]}
    rng, lines = np.random.default_rng(0), ["level,rank,wnid,name"]
    for number, (level, wnids) in enumerate(levels.items(), start=1):
        (tmp_path / "features" / level).mkdir(parents=True)
        for split, rows in (("train", 60), ("test", 30)):
            y = np.arange(rows) % 3
            X = np.eye(3)[y] + 0.5 * rng.normal(size=(rows, 3))
            np.savez(tmp_path / "features" / level / f"{split}.npz", X=X, y=np.array(wnids)[y])
        lines += [f"{number},{10 * number + i},{wnid},concept {i}" for i, wnid in enumerate(wnids)]
    (tmp_path / "levels.csv").write_text("\n".join(lines))
    unseen.levels(tmp_path / "levels.csv").write(tmp_path / "same.csv")
    study = unseen.study("cog-v2", datasets=["l1", "l2"], logistic={"protocol": "cog-v2-short"})
    quick = study.replace(levels=tmp_path / "same.csv", seeds=2, shots=[2, "all"])
    places: dict[str, Any] = {"features": tmp_path / "features", "out": tmp_path / "run"}
    run = unseen.run(quick, **places)
    assert isinstance(run, Run)
    assert len(run.scores()) == 2 * 2 * 2 * 2
    assert run.summary()["mean"].between(0.3, 1).all()
    assert len(repr(run)) < 1000
    assert "<table" in run._repr_html_()
    assert "concept 0" in run.report(tmp_path / "page.html").read_text()
    assert unseen.report(run, tmp_path / "same.html").read_text() == (tmp_path / "page.html").read_text()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run/results").iterdir()}
    unseen.run(quick.replace(levels=tmp_path / "levels.csv"), **places)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run/results").iterdir()} == before
    assert {*run.compare("yours", "yours")["difference"]} == {0.0}
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"datasets": ["l3"]}, "no features of l3"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"shots": 0}, "shots must be at least 1"),
    )
    for keys, message in wrong:
        with pytest.raises(UserError, match=message):
            unseen.run(quick.replace(**keys), **places)


def test_pages_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backbones = [Backbone("mine", "yours"), Backbone("other", "yours")]
    concepts = write_concept_run(tmp_path / "concepts", backbones, lambda name, _, seed: 0.5 + 0.01 * seed)
    page = unseen.report(concepts, tmp_path / "page.html")
    assert "mine" in page.read_text()
    tasks = write_task_run(tmp_path / "tasks", ["mine", "other"], lambda *_: 0.5)
    pages = [unseen.report(runs, tmp_path / "page.html").read_text() for runs in ([tasks], [concepts, tasks])]
    assert [title in pages[0] for title in ("calibration", "Calibration")].count(True)
    assert "axes" in pages[1]
    with pytest.raises(UserError, match="no runs"):
        unseen.report([], tmp_path / "none.html")
    alone = unseen.report([], tmp_path / "papers.html", published=True).read_text()
    assert "SwAV" in alone
    one = unseen.report(tasks, tmp_path / "axes.html", axes=True).read_text()
    assert "axes" in one
    table = "ood,model,accuracy,rho,low,high\nsketch,mine,0.5,0.01,0,0.02\nsketch,other,0.4,0,-0.01,0.01\n"
    (tmp_path / "models.csv").write_text(table)
    both = unseen.report(tasks, tmp_path / "axes.html", shifts=tmp_path / "models.csv").read_text()
    assert ("Under shift" in both, "Under shift" in one) == (True, False)
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", opened.append)
    unseen.report(concepts, tmp_path / "page.html", open=True)
    assert opened == [(tmp_path / "page.html").as_uri()]
    for wrong, message in (
        ({"compare": ("mine", "other"), "published": True}, "published"),
        ({"compare": ("mine", "other"), "shifts": tmp_path / "models.csv"}, "shifts"),
        ({"compare": ("mine",)}, "compare"),
        ({"compare": "mine"}, "compare"),
        ({"shots": 8}, "compare"),
        ({"out": tmp_path / "page.pdf"}, r"\.html"),
    ):
        with pytest.raises(UserError, match=message):
            unseen.report(**{"runs": concepts, "out": tmp_path / "never.html"} | wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "never.html").exists()


def test_names_are_escaped_in_notebooks() -> None:
    hostile = "<script>alert(1)</script>"
    X, y = np.eye(4).repeat(3, axis=0), np.array([hostile, "b", "c", "d"]).repeat(3)
    table = pd.DataFrame({"model": [f"{hostile}{i}" for i in range(6)], "in": np.linspace(0.3, 0.8, 6), "out": 0.4})
    table["out"] += np.linspace(0, 0.2, 6) ** 2
    shown = (
        unseen.probe(X, y, X, y, probe="ridge")._repr_html_(),
        unseen.effective_robustness(table, id="in", ood="out", settings={"resamples": 10})._repr_html_(),
    )
    assert not any("<script" in html for html in shown)
