"""Errors about wrong names and wrong rows, and the names of arguments in them: options of a command, or of Python."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_folders import write_concept_run

import unseen
from unseen.errors import UserError, argument, call, look_up, naming_options, on_command_line, option, row_numbers
from unseen.runs.data import Backbone

SOURCE = Path(unseen.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMANDS = re.compile(r"\b(?:unseen|ray start|docker run|pip install) [^;,:)]*")
"""A whole command may be named anywhere."""
ONLY_COMMANDS = {
    "backbones/sources/registry_source.py": "an option of pip",
    "demo/train.py": "a script with options of its own",
    "exchange/record.py": "describes the fields of results files",
    "runs/parts.py": "parses the text of an option",
    "runs/shots.py": "parses the text of an option",
    "studies/concepts/finetune.py": "only commands fine-tune on concepts",
    "studies/concepts/finetune_request.py": "only commands fine-tune on concepts",
    "studies/concepts/noise_of_run.py": "only commands look for label noise",
    "studies/shifts/finetune.py": "only commands fine-tune for shifts",
    "studies/shifts/pool.py": "only commands train a pool",
    "studies/shifts/training_sets.py": "only commands train a pool",
}
"""Modules whose texts name options, and why these texts are never for Python."""


def test_an_unknown_name_is_told_which_are_close_or_else_all() -> None:
    known = {"resnik": 1, "lin": 2}
    assert look_up(known, "lin", "measure") == 2
    with pytest.raises(UserError, match=r"^no measure 'resnick'; did you mean resnik\?$"):
        look_up(known, "resnick", "measure")
    with pytest.raises(UserError, match=r"^no measure 'x' of words; there are resnik, lin$"):
        look_up(known, "x", "measure", " of words")


def test_rows_are_counted_in_words() -> None:
    assert row_numbers([3]) == "row 3"
    assert row_numbers([3, 17, 40]) == "rows 3, 17 and 40"
    assert row_numbers(range(1000, 2000)) == "1,000 rows (the first are 1,000, 1,001, 1,002, 1,003, 1,004)"


def test_arguments_are_named_as_the_user_writes_them() -> None:
    written: list[Callable[[], str]] = [
        lambda: argument("ray-address"), lambda: option("out"), lambda: option("on-error", "report"),
        lambda: option("patches", 100), lambda: option("allow-code", True), lambda: option("checkpoint", "FILE"),
        lambda: option("test-set", python="test_sets"), lambda: option("id", ["a", "b"]),
        lambda: call("report", "id"), lambda: call("shifts run", "classes", "a", python="shifts"),
    ]  # fmt: skip
    assert [each() for each in written] == [
        "ray_address", "out=", "on_error='report'", "patches=100", "allow_code=True", "checkpoint=FILE", "test_sets=",
        "id=['a', 'b']", "unseen.report(…, id=)", "unseen.shifts(…, classes='a')",
    ]  # fmt: skip
    with naming_options():
        with naming_options():
            pass
        assert [each() for each in written] == [
            "--ray-address", "--out", "--on-error report", "--patches 100", "--allow-code", "--checkpoint FILE",
            "--test-set", "--id a,b", "unseen report --id", "unseen shifts run --classes a",
        ]  # fmt: skip
    assert not on_command_line()


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
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        wrong = [text for text in texts(ast.parse(path.read_text())) if OPTION.search(without_commands(text))]
        if wrong and not name.startswith("cli/"):
            found[name] = wrong
    assert {name: found[name] for name in found if name not in ONLY_COMMANDS} == {}, "use unseen.errors.option"
    assert found.keys() == ONLY_COMMANDS.keys()


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for domain in ("l1", "seen"):
        (tmp_path / "features" / domain).mkdir(parents=True)
        for split in ("train", "test"):
            np.savez(tmp_path / f"features/{domain}/{split}.npz", X=np.eye(4), y=list("abab"))
    (tmp_path / "levels.csv").write_text("level,rank,wnid,name\n1,0,a,a\n1,1,b,b\n")
    (tmp_path / "models.csv").write_text("model,backbone\nm,own.py:net\n")
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit/models.csv").write_text("model\n")
    (tmp_path / "data/train").mkdir(parents=True)
    (tmp_path / "data/val").mkdir()
    write_concept_run(tmp_path / "run", [Backbone("a", "")], lambda *_: 0.5, domains=("in1k",))
    return tmp_path


FROM_PYTHON: list[Callable[[Path], Any]] = [
    lambda at: unseen.load_backbone("demo:untrained", pool="cls", device="cpu"),
    lambda at: unseen.load_backbone("timm:test_vit", weights="random", patches=True, pool="cls", device="cpu"),
    lambda at: unseen.extract("demo:untrained", at / "data", at / "out", device="cpu"),
    lambda at: unseen.extract("demo:untrained", at / "data", at / "out", decode="gpu", device="cpu"),
    lambda at: unseen.concepts("demo:untrained", out=at / "out", device="cpu"),
    lambda at: unseen.concepts("demo:untrained", out=at / "out", domains=["l1"], device="cpu"),
    lambda at: unseen.concepts(out=at / "out", images=at),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", seen="in1k"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", levels=at / "levels.csv", seen="l1"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", levels=at / "levels.csv", seen="a/b"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", domains=["l2"]),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", variant="class-balanced"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", levels="cosine"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", vectors=at / "v.txt"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", regroup=True),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", ray_address="x"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", devices=[0], executor="ray"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", devices=[99]),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", devices="gpu"),
    lambda at: unseen.concepts(features=at / "features", out=at / "out", executor="moon"),
    lambda at: unseen.concepts(
        features=at / "features", out=at / "run", levels=at / "levels.csv", domains=["l1"], protocol="cog-v2-short"
    ),
    lambda at: unseen.tasks("demo:untrained", out=at / "out", datasets="aircraft", device="cpu"),
    lambda at: unseen.tasks("demo:untrained", out=at / "out", datasets="digits", imagenet_top1=[1.0, 2.0]),
    lambda at: unseen.tasks("demo:untrained", out=at / "out", datasets="digits", imagenet_top1=0.7),
    lambda at: unseen.tasks(out=at / "out", datasets="digits"),
    lambda at: unseen.tasks("demo:untrained", out=at / "out", saliency=True, examples=0, device="cpu"),
    lambda at: unseen.tasks((), out=at / "out", saliency=True, device="cpu"),
    lambda at: unseen.tasks("demo:untrained", out=at / "out", invert=True, precision="half", device="cuda"),
    lambda at: unseen.tasks("demo:untrained", out=at / "out", dense=True, finetune=True, device="cpu"),
    lambda at: unseen.shifts("timm:test_vit", out=at / "out"),
    lambda at: unseen.shifts(at / "models.csv", out=at / "out", test_sets=at / "data"),
    lambda at: unseen.shifts(["timm:a", "timm:b"], out=at / "out", checkpoint=at / "x.pth", test_sets=at / "data"),
    lambda at: unseen.report(at / "fit", at / "page.html"),
    lambda at: unseen.report(at / "run", at / "page.html", id="a"),
    lambda at: unseen.report(at / "run", at / "page.html", compare=("a",)),
    lambda at: unseen.report(at / "run", at / "page.html", compare="ab"),
    lambda at: unseen.report(at / "run", at / "page.html", compare=("a", 2)),
    lambda at: unseen.report([], at / "page.html", shifts=at / "nowhere"),
    lambda at: unseen.example(5),
    lambda at: unseen.similarity(5, "dog.n.01"),
    lambda at: unseen.build_levels(["tabby.n.01"], levels=2, size=5).explain(5),
    lambda at: unseen.build_levels(["tabby.n.01"], settings={"lcs": 5}),
    lambda at: unseen.leaderboard(at / "run"),
    lambda at: unseen.build_levels(["tabby.n.01"], universe=["kitty.n.04"]),
    lambda at: unseen.build_levels(["tabby.n.01"], measure="cosine"),
    lambda at: unseen.levels(at / "levels.csv").plot("images"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FROM_PYTHON)))
def test_python_errors_name_python_arguments(places: Path, number: int) -> None:
    with pytest.raises(UserError) as error:
        FROM_PYTHON[number](places)
    assert not OPTION.search(without_commands(str(error.value))), error.value
    assert not (places / "out").exists() or not any((places / "out").iterdir())
