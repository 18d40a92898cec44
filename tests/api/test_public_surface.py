"""What all public functions have in common: paths of any type, and only public names in `dir` and `help`."""

import inspect
import pydoc
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from PIL import Image
from run_folders import write_concept_run

import unseen
from site_pages.api import RESULTS
from unseen.api.run import Run
from unseen.data.core.manifest import Manifest
from unseen.errors import UserError
from unseen.report.core import export
from unseen.runs.data import Backbone
from unseen.studies.shifts.plans import ModelPlan


class Place:
    """A path that is neither a string nor a `Path`, and shows itself otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return "a place"


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, and every public method of the classes that they return."""
    for name in unseen.__all__:
        if callable(getattr(unseen, name)):
            yield name, getattr(unseen, name)
    for name, [origin, *_] in RESULTS.items():
        of = getattr(import_module(origin), name)
        yield from ((f"{name}.{method}", each) for method, each in inspect.getmembers(of, callable) if method[0] != "_")


MOST_PARAMETERS = 12


def test_no_function_has_many_parameters() -> None:
    found = dict[str, int]()
    for name, function in public():
        with suppress(ValueError):  # of what Python implements in C
            parameters = inspect.signature(function).parameters.values()
            found[name] = sum(each.name != "self" and each.kind is not each.VAR_KEYWORD for each in parameters)
    functions = {name for name in unseen.__all__ if isinstance(getattr(unseen, name), FunctionType)}
    assert functions <= found.keys()
    assert {"Run.compare", "Study.replace"} <= found.keys()
    assert {name: count for name, count in found.items() if count > MOST_PARAMETERS} == {}


def test_every_path_may_be_a_string_or_path_like() -> None:
    found = 0
    for name, function in public():
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:
            continue
        for each in parameters:
            kind = each.annotation if isinstance(each.annotation, str) else inspect.formatannotation(each.annotation)
            kind = kind.replace("Place", "str | PathLike[str]").replace("AskedProbe", "str | PathLike[str]")
            if "Path" in kind:
                found += 1
                assert "PathLike[str]" in kind, (name, each.name, kind)
                assert kind.replace("PathLike[str]", "").count("str"), (name, each.name, kind)
    assert found > 30


@pytest.mark.parametrize("kind", [str, Place])
def test_paths_of_every_type_work(
    tmp_path: Path, kind: Callable[[Path], str | PathLike[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = lambda name: kind(tmp_path / name)  # noqa: E731
    (tmp_path / "seen.txt").write_text("finch0\n")
    tree = [f"{name}{i},{name}" for name in ("finch", "moss") for i in range(4)]
    (tmp_path / "tree.csv").write_text("\n".join(["child,parent", *tree]))
    mine = unseen.build_levels(place("seen.txt"), taxonomy=place("tree.csv"), levels=2, size=2)
    mine.write(place("levels.csv"))
    assert unseen.levels(place("levels.csv")).concepts == type(mine).read(place("levels.csv")).concepts
    mine.plot().save(place("levels.svg"))

    rng = np.random.default_rng(0)
    for split, count in (("train", 10), ("test", 4)):
        for number in range(count):
            (tmp_path / f"data/{split}/{number % 2}").mkdir(parents=True, exist_ok=True)
            image = rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)
            Image.fromarray(image).save(tmp_path / f"data/{split}/{number % 2}/{number}.png")
    opened = unseen.open_dataset(place("data"))
    opened.manifest.write(place("manifest.csv"))
    assert list(Manifest.read(place("manifest.csv")).splits) == list(opened.manifest.splits)
    quiet: dict[str, Any] = {"workers": 0, "progress": False}
    both = unseen.extract("demo:untrained", place("data"), place("features"), **quiet)
    one = unseen.extract("demo:untrained", place("data/test"), place("features"), **quiet)
    assert {split: len(of) for split, of in both.items()} == {"train": 8, "val": 2, "test": 4}
    assert len(one["all"]) == 4

    run = Run(write_concept_run(tmp_path / "run", [Backbone("a", "")], lambda *_: 0.5))
    assert Run(place("run")).folder == run.folder  # type: ignore[arg-type]
    exported = list[Path]()  # figures take long to draw
    monkeypatch.setattr(export, "export_page", lambda _, folder: exported.append(folder))
    run.report(place("page.html"), export=place("tables"))
    assert exported == [tmp_path / "tables"]
    run.export(place("results.json"))
    assert "error" not in set(unseen.check(place("results.json"))["severity"])
    assert unseen.leaderboard(place("results.json")).to_frame()["yours"].sum() == 1
    assert unseen.leaderboard([place("run")]).to_frame()["yours"].sum() == 1
    assert ModelPlan("m", "timm:x", checkpoint=place("w.pth")).checkpoint == tmp_path / "w.pth"  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"nowhere\.csv"):
        unseen.run(unseen.study("cog-v2", levels=place("nowhere.csv")), "demo:untrained", out=place("concepts"))
    with pytest.raises(UserError, match=r"nowhere\.npz"):
        study = unseen.study("shifts", datasets=[place("data/test")], backbone={"head": place("nowhere.npz")})
        unseen.run(study, "timm:test_vit", out=place("shifts"), **quiet)
    study = unseen.study("ericsson-2021", datasets=[place("data")], probes="knn", shots=1, seeds=1)
    (tmp_path / "study.toml").write_text(study.to_toml())
    measured = unseen.run(place("study.toml"), "demo:untrained", out=place("tasks"), progress=False)
    study = study.replace(datasets="data")
    again = unseen.run(study, features=place("tasks/features"), out=place("again"), progress=False)
    assert isinstance(measured, Run)
    assert isinstance(again, Run)
    assert again.scores()["value"].tolist() == measured.scores()["value"].tolist() != []
    with pytest.raises(UserError, match="nowhere"):
        unseen.run(study, place("models.csv"), data={"": place("nowhere")}, out=place("tasks"))


def test_report_is_the_function_also_after_its_package_is_imported() -> None:
    from unseen.report.concepts import page  # noqa: F401

    assert isinstance(unseen.report, FunctionType)
    assert "compare" in pydoc.render_doc(unseen.report)
    assert list(inspect.signature(unseen.report).parameters)[:2] == ["runs", "out"]
    from unseen import report

    assert report is unseen.report


@pytest.mark.parametrize("module", [unseen, unseen.probes])
def test_modules_show_only_what_they_are_for(module: Any) -> None:
    shown = dir(module)
    assert shown
    for name in shown:
        where = getattr(getattr(module, name), "__module__", module.__name__)
        assert where.startswith("unseen"), (name, where)
        assert name not in {"Any", "TYPE_CHECKING", "import_module"}
    assert {"KNN", "Probe"} <= {*dir(unseen.probes)}
