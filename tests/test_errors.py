"""Errors about wrong names and wrong rows, and the names of arguments in them: options of a command, or of Python."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from run_folders import write_concept_run

import unseen
from unseen.cli.main import app
from unseen.cli.shifts.options import FitKeys
from unseen.errors import (
    UserError,
    argument,
    call,
    did_you_mean,
    look_up,
    naming_options,
    on_command_line,
    option,
    row_numbers,
    setting,
)  # fmt: skip
from unseen.reading.keys import keys_of
from unseen.runs.data import Backbone
from unseen.studies.toml import study_keys

SOURCE = Path(unseen.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMANDS = re.compile(r"\b(?:unseen|ray start|docker run|pip install) [^;,:)]*")
"""A whole command may be named anywhere."""
ONLY_COMMANDS = {
    "backbones/sources/registry_source.py": "an option of pip",
    "demo/train.py": "a script with options of its own",
    "errors.py": "writes a key as the user sets it",
    "exchange/record.py": "describes the fields of results files",
    "reading/keys.py": "parses the texts of --set",
    "runs/parts.py": "parses the text of an option",
    "runs/shots.py": "parses the text of an option",
    "studies/shifts/finetune.py": "only commands fine-tune for shifts",
    "studies/shifts/training_sets.py": "only commands train a pool",
    "studies/study.py": "parses the texts of --set",
    "studies/study_file.py": "writes the command that runs a study again",
}
"""Modules whose texts name options, and why these texts are never for Python."""


def test_an_unknown_name_is_told_which_are_close_or_else_all() -> None:
    known = {"resnik": 1, "lin": 2}
    assert look_up(known, "lin", "measure") == 2
    with pytest.raises(UserError, match=r"^no measure 'resnick'; did you mean resnik\?$"):
        look_up(known, "resnick", "measure")
    with pytest.raises(UserError, match=r"^no measure 'x' of words; there are resnik, lin$"):
        look_up(known, "x", "measure", " of words")


def test_a_suggestion_names_each_name_once() -> None:
    assert did_you_mean("knn-2", ["knn-20", "ridge", "knn-20"]) == "; did you mean knn-20?"


def test_rows_are_counted_in_words() -> None:
    assert row_numbers([3]) == "row 3"
    assert row_numbers([3, 17, 40]) == "rows 3, 17 and 40"
    assert row_numbers(range(1000, 2000)) == "1,000 rows (the first are 1,000, 1,001, 1,002, 1,003, 1,004)"


def test_arguments_are_named_as_the_user_writes_them() -> None:
    written: list[Callable[[], str]] = [
        lambda: argument("dry-run"), lambda: option("out"), lambda: option("on-error", "report"),
        lambda: option("patches", 100), lambda: option("allow-code", True), lambda: option("checkpoint", "FILE"),
        lambda: option("test-set", python="test_sets"), lambda: option("id", ["a", "b"]),
        lambda: call("report", "id"), lambda: call("shifts fit", "fit-on", "a", python="effective_robustness"),
        lambda: setting("backbone.pool", "avg"), lambda: setting("on-error"),
    ]  # fmt: skip
    assert [each() for each in written] == [
        "dry_run", "out=", "on_error='report'", "patches=100", "allow_code=True", "checkpoint=FILE", "test_sets=",
        "id=['a', 'b']", "unseen.report(…, id=)", "unseen.effective_robustness(…, fit_on='a')", "pool='avg'",
        "on_error=",
    ]  # fmt: skip
    with naming_options():
        with naming_options():
            pass
        assert [each() for each in written] == [
            "--dry-run", "--out", "--on-error report", "--patches 100", "--allow-code", "--checkpoint FILE",
            "--test-set", "--id a,b", "unseen report --id", "unseen shifts fit --fit-on a", "--set backbone.pool=avg",
            "--set on-error=…",
        ]  # fmt: skip
    assert not on_command_line()


@cache
def modules() -> dict[str, ast.AST]:
    """The source of all modules by path."""
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


def without_commands(text: str) -> str:
    return COMMANDS.sub("", text)


def texts(tree: ast.AST) -> Iterator[str]:
    """All literal texts but docstrings, with a dot for each value in them."""
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(each) for node in parts for each in node.values}
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings are statements
    for node in parts:
        yield "".join(str(each.value) if isinstance(each, ast.Constant) else "•" for each in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (inside | alone):
            yield node.value


def test_no_text_names_an_option_by_itself() -> None:
    """Errors, notices and pages are for both, commands and Python."""
    found = dict[str, list[str]]()
    for name, tree in modules().items():
        wrong = [text for text in texts(tree) if OPTION.search(without_commands(text))]
        if wrong and not name.startswith("cli/"):
            found[name] = wrong
    assert {name: found[name] for name in found if name not in ONLY_COMMANDS} == {}, "use unseen.errors.option"
    assert found.keys() == ONLY_COMMANDS.keys()


def named_in(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The functions that write the name of an option or a key, with the literal names that they are called with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            name = node.args[0]
            if node.func.id in {"argument", "option", "setting"} and isinstance(name, ast.Constant):
                yield node.func.id, name.value


def test_options_and_keys_that_texts_name_exist() -> None:
    def every(command: Any) -> Iterator[Any]:
        for child in getattr(command, "commands", {}).values():
            yield from (child, *every(child))

    options = {name for each in every(typer.main.get_command(app)) for of in each.params for name in of.opts}
    keys = {name for name, _ in study_keys()} | {*keys_of(FitKeys)}
    wrong = [
        (module, kind, name)
        for module, tree in modules().items()
        for kind, name in named_in(tree)
        if (name not in keys if kind == "setting" else f"--{name}" not in options)
    ]
    assert wrong == []


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Folders and files with mistakes in them."""
    for domain in ("l1", "seen"):
        (tmp_path / "features" / domain).mkdir(parents=True)
        for shift, split in enumerate(("train", "test")):
            np.savez(tmp_path / f"features/{domain}/{split}.npz", X=np.eye(4) + shift, y=list("abab"))
    (tmp_path / "levels.csv").write_text("level,rank,wnid,name\n1,0,a,a\n1,1,b,b\n")
    (tmp_path / "models.csv").write_text("model,backbone\nm,own.py:net\n")
    (tmp_path / "own.py").write_text("raise AssertionError('nothing may be executed')\n")
    (tmp_path / "code.toml").write_text('probes = ["own.py"]\n')
    (tmp_path / "table.toml").write_text('probes = ["classifier"]\nbackbones = ["models.csv"]\n')
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit/models.csv").write_text("model\n")
    (tmp_path / "data/train").mkdir(parents=True)
    (tmp_path / "data/val").mkdir()
    write_concept_run(tmp_path / "run", [Backbone("a", "")], lambda *_: 0.5, domains=("in1k",))
    return tmp_path


NET = "demo:untrained"
Call = Callable[[Path], Any]


def run(at: Path, name: str, backbone: Any = (), **given: Any) -> Any:
    """A study by its name; what is not an argument of `unseen.run` is a key of it."""
    own = {key: given.pop(key) for key in [*given] if key in inspect.signature(unseen.run).parameters}
    return unseen.run(unseen.study(name, **given), backbone, **{"out": at / "out", "progress": False} | own)


def of_features(at: Path, **given: Any) -> Any:
    return run(at, "cog-v2", features=at / "features", **given)


def of_digits(at: Path, backbone: Any = NET, **given: Any) -> Any:
    return run(at, "ericsson-2021", backbone, datasets="digits", **given)


def with_top1(at: Path, value: Any) -> Any:
    study = unseen.study("ericsson-2021", datasets="digits", backbone={"imagenet_top1": value})
    return unseen.run(study, NET, out=at / "out", progress=False)


def extracted(at: Path, backbone: Any = NET, **settings: Any) -> Any:
    return unseen.extract(backbone, "digits", at / "out", settings=settings, progress=False)


LOADING: list[tuple[Call, str]] = [
    (lambda at: unseen.load_backbone(NET, pool="cls", device="cpu"), "pool"),
    (lambda at: unseen.load_backbone("timm:test_vit", weights="random", patches=True, pool="cls"), "pool='cls'"),
    (lambda at: unseen.extract(NET, at / "data", at / "out"), "several splits"),
    (lambda at: extracted(at, decode="gpu"), "decode='cpu'"),
    (lambda at: extracted(at, presision="half"), "did you mean precision"),
    (lambda at: extracted(at, at / "models.csv"), "own.py:net is code"),
    (lambda at: extracted(at, None), "backbone: None is not an id"),
]
CONCEPTS: list[tuple[Call, str]] = [
    (lambda at: run(at, "cog-v2", NET), "data={'imagenet-1k': FOLDER}"),
    (lambda at: run(at, "cog-v2", NET, datasets="l1"), "data={'imagenet-21k': PLACE}"),
    (lambda at: run(at, "cog-v2", data=at), "name one (backbone=)"),
    (lambda at: run(at, "cog-v2", NET, data={"imagenet": at}), "did you mean imagenet-1k"),
    (lambda at: run(at, "cog-v2", NET, data=at / "nowhere"), "(data=)"),
    (lambda at: of_features(at, data=at), "(data=) or features (features=)"),
    (lambda at: of_features(at, seen="in1k"), "seen is for levels of your own"),
    (lambda at: of_features(at, levels=at / "levels.csv", seen="l1"), 'seen = "l1"'),
    (lambda at: of_features(at, levels=at / "levels.csv", seen="a/b"), "seen names a domain"),
    (lambda at: of_features(at, datasets="l2"), "leave it out (datasets=)"),
    (lambda at: of_features(at, class_balanced=True), "no train features"),
    (lambda at: of_features(at, levels="cosine"), "(word_vectors=FILE)"),
    (lambda at: of_features(at, word_vectors=at / "v.txt"), "word-vectors needs levels"),
    (lambda at: of_features(at, limit=3), "limit applies to images"),
    (lambda at: of_features(at, regroup=True), "no key 'regroup'"),
    (lambda at: of_features(at, knn={"k": 5}), "knn is not among the probes"),
    (lambda at: of_features(at, executor="ray:"), "executor='ray:'"),
    (lambda at: of_features(at, devices=[0], executor="ray"), "devices selects GPUs"),
    (lambda at: of_features(at, devices=[99]), "devices=99"),
    (lambda at: of_features(at, devices="gpu"), "devices must be"),
    (lambda at: of_features(at, executor="moon"), "no executor 'moon'"),
    (lambda at: of_features(at, workers=-1), "workers must be at least 0"),
    (lambda at: of_features(at, part=(3, 2)), "part 3 of 2"),
    (lambda at: of_features(at, part="1/2"), "part must be two numbers"),
    (
        lambda at: of_features(
            at, out=at / "run", levels=at / "levels.csv", datasets="l1", logistic={"protocol": "cog-v2-short"}
        ),
        "replace=True",
    ),
]
OTHERS: list[tuple[Call, str]] = [
    (lambda at: run(at, "ericsson-2021", NET, datasets="aircraft"), "aircraft: not found"),
    (lambda at: of_digits(at, ()), "name one (backbone=)"),
    (lambda at: of_digits(at, [3]), "backbone: 3 is not an id"),
    (lambda at: of_digits(at, data=[at]), "unseen.open_dataset"),
    (lambda at: of_digits(at, shots=0), "shots must be at least 1"),
    (lambda at: of_digits(at, seeds=0), "seeds must be at least 1"),
    (lambda at: of_digits(at, probes="knm"), "did you mean knn"),
    (lambda at: with_top1(at, [1.0, 2.0]), "imagenet-top1 must be a number"),
    (lambda at: with_top1(at, 0.7), "did you mean 70?"),
    (lambda at: run(at, "saliency", NET, examples=0), "examples must be at least 1"),
    (lambda at: run(at, "saliency", NET, examples=1, saliency={"grid": "99/99"}), "(grid=) or larger images (size=)"),
    (lambda at: run(at, "saliency"), "name one (backbone=)"),
    (lambda at: run(at, "saliency", features=at / "features"), "give images (data=)"),
    (lambda at: run(at, "inversion", NET, examples=1, precision="hlaf"), "did you mean half"),
    (lambda at: run(at, "dense", NET, datasets="scenes-seen", probes="knn"), "unseen ls probes"),
    (lambda at: run(at, "shifts", "timm:test_vit"), "(data=)"),
    (lambda at: run(at, "shifts", at / "models.csv", data=at / "data"), "unseen.study(…, allow_code=True)"),
    (lambda at: run(at, "shifts", ["timm:a", "timm:a"], data=at / "data"), "2 backbones are called timm:a"),
    (lambda at: unseen.run(at / "table.toml", out=at / "out", data=at / "data"), "unseen.study(…, allow_code=True)"),
    (lambda at: unseen.run(at / "code.toml", NET, out=at / "out"), "unseen.study(…, allow_code=True)"),
    (lambda at: unseen.run("cog", out=at / "out"), "did you mean cog-v"),
]
PAGES: list[tuple[Call, str]] = [
    (lambda at: unseen.report(at / "fit", at / "page.html"), "shifts="),
    (lambda at: unseen.report(at / "run", at / "page.html", id="a"), "id and ood"),
    (lambda at: unseen.report(at / "run", at / "page.html", shots=8), "add compare"),
    (lambda at: unseen.report(at / "run", at / "page.html", compare=("a",)), "compare is a pair"),
    (lambda at: unseen.report(at / "run", at / "page.html", compare="ab"), "compare is a pair"),
    (lambda at: unseen.report(at / "run", at / "page.html", compare=("a", 2)), "compare is a pair"),
    (lambda at: unseen.report([], at / "page.html"), "published"),
    (lambda at: unseen.report([], at / "page.html", shifts=at / "nowhere"), "nowhere"),
    (lambda at: unseen.example(5), "domain '5'"),
    (lambda at: unseen.similarity(5, "dog.n.01"), "5"),
    (lambda at: unseen.build_levels(["tabby.n.01"], levels=2, size=5).explain(5), "5"),
    (lambda at: unseen.build_levels(["tabby.n.01"], settings={"lcs": 5}), "lcs must be"),
    (lambda at: unseen.build_levels(["tabby.n.01"], universe=["kitty.n.04"]), "(levels=, size=)"),
    (lambda at: unseen.build_levels(["tabby.n.01"], measure="cosine"), "word-vectors=FILE"),
    (lambda at: unseen.leaderboard(at / "run"), "run"),
    (lambda at: unseen.levels(at / "levels.csv").plot("images"), "counts="),
]


@pytest.mark.parametrize(("mistake", "named"), [*LOADING, *CONCEPTS, *OTHERS, *PAGES])
def test_python_errors_name_python_arguments(places: Path, mistake: Call, named: str) -> None:
    with pytest.raises(UserError) as error:
        mistake(places)
    assert named in str(error.value)
    assert not OPTION.search(without_commands(str(error.value))), error.value
    assert not (places / "out").exists() or not any((places / "out").iterdir())
