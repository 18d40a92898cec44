"""The tree of commands: what is at its top, where old names went, which options go together, what shells complete."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from unseen.cli.ls.names import PROTOCOLS as LISTED
from unseen.cli.main import app

Unseen = Callable[..., Any]
TOP = {
    "demo", "probe", "run", "show", "extract", "shifts", "report", "leaderboard", "papers", "levels", "ls", "doctor",
    "export", "check", "duplicates", "labels", "panel", "power",
}  # fmt: skip


def command_names(command: Any, before: str = "") -> dict[str, Any]:
    found = {}
    for name, child in getattr(command, "commands", {}).items():
        found |= {f"{before}{name}": child} | command_names(child, f"{before}{name} ")
    return found


COMMANDS = command_names(typer.main.get_command(app))


def test_few_commands_in_panels() -> None:
    top = {name: command for name, command in COMMANDS.items() if " " not in name}
    assert set(top) == TOP
    assert len({command.rich_help_panel for command in top.values()}) == 4


FORMER = ("concepts", "tasks", "shifts run")
MOST_OPTIONS, ALL_OPTIONS = 20, 210


def own_options(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "option" and each.opts[0] != "--help"]


def test_no_command_has_many_options() -> None:
    counts = {name: len(own_options(command)) for name, command in COMMANDS.items()}
    assert counts["run"] == 18
    assert {name: count for name, count in counts.items() if count > MOST_OPTIONS} == {}
    assert sum(counts.values()) <= ALL_OPTIONS, f"{sum(counts.values())} options of {len(counts)} commands"


@pytest.mark.parametrize(("words", "width", "most"), [([], 80, 45), (["run"], 80, 50)])
def test_help_fits_a_screen(
    unseen: Unseen, monkeypatch: pytest.MonkeyPatch, words: list[str], width: int, most: int
) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)
    lines = unseen(*words, "--help").out.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= most


def test_former_commands_are_gone(unseen: Unseen) -> None:
    for name in FORMER:
        assert name not in COMMANDS
        answer = unseen(*name.split(), "--out", "run")
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.count("\n") == 1


def test_images_and_features_do_not_go_together(unseen: Unseen, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    answer = unseen("run", "cog-v2", "--data", tmp_path, "--features", tmp_path / "f", "--out", tmp_path / "run")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "not both" in answer.err
    assert not (tmp_path / "run").exists()


def test_choices_are_those_of_the_code() -> None:
    from unseen.backbones.backbone import Pool
    from unseen.data.core.decoding.transform import NORMALISATIONS
    from unseen.features.settings import Precision
    from unseen.probes.many_shot import PROTOCOLS
    from unseen.probes.protocol import PROTOCOLS as LOGISTIC
    from unseen.reading.keys import keys_of
    from unseen.studies.keys import BackboneKeys, StudyKeys

    assert keys_of(StudyKeys)["precision"].words == get_args(Precision)
    assert keys_of(BackboneKeys)["normalize"].words == tuple(NORMALISATIONS)
    assert all(pool in keys_of(BackboneKeys)["pool"].help for pool in get_args(Pool))
    assert {*LOGISTIC, *PROTOCOLS} <= {row[0] for row in LISTED}


def test_settings_of_levels_are_those_of_recipes() -> None:
    from typing import get_type_hints

    from unseen.cli.levels.keys import DrawKeys
    from unseen.data.core.splits import SplitRule
    from unseen.ontology.recipe_keys import FILES, RecipeKeys
    from unseen.ontology.recipes import Recipe
    from unseen.reading.keys import keys_of

    words = {name: get_args(hint) for name, hint in get_type_hints(Recipe).items()}
    for each in keys_of(RecipeKeys).values():
        assert each.field in FILES or each.field in words
        assert each.words == (words[each.field] if each.words else ())
    drawn = DrawKeys()
    assert (drawn.test, drawn.min_train, drawn.max_train) == tuple(vars(SplitRule()).values())


def complete(line: str) -> list[str]:
    environment = os.environ | {"_UNSEEN_COMPLETE": "complete_bash", "COMP_WORDS": line}
    environment["COMP_CWORD"] = str(len(line.split(" ")) - 1)
    command = [str(Path(sys.executable).parent / "unseen")]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment).stdout.split()


def test_shells_complete_commands_and_choices() -> None:
    assert complete("unseen pa") == ["panel", "papers"]
    assert complete("unseen run cog-v") == ["cog-v1", "cog-v2"]
    assert complete("unseen run cog-v2 --probes logistic,patch-") == ["logistic,patch-context", "logistic,patch-linear"]
    assert complete("unseen run ericsson-2021 --datasets voc2007,aircr") == ["voc2007,aircraft"]
    assert "torchvision:resnet50.IMAGENET1K_V1" in complete("unseen run cog-v2 --backbone torchvision:resnet")
    assert complete("unseen ls mea") == ["measures"]


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "unseen", "--version"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.startswith("unseen ")


def test_help_texts_have_no_hard_line_breaks() -> None:
    for name, command in COMMANDS.items():
        assert "\n" not in command.help.replace("\n\n", ""), name
        for parameter in command.params:
            assert "\n" not in (parameter.help or ""), (name, parameter.name)
            assert parameter.help, (name, parameter.name)
            longest = max(parameter.help.split(), key=len)
            assert len(longest) <= 20, f"{name} {parameter.name}: a narrow terminal cuts {longest}"


def test_flags_are_shown_without_a_type(capsys: pytest.CaptureFixture[str]) -> None:
    root: Any = typer.main.get_command(app)
    for command in (root, *COMMANDS.values()):
        print(command.get_help(typer.Context(command, info_name="unseen")))
    shown = capsys.readouterr().out
    assert shown.count("--help ") == 1 + len(COMMANDS)
    assert "--dry-run" in shown
    assert not re.search("<bool>|BOOLEAN", shown)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_help_fills_the_width(unseen: Unseen, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """A line of a paragraph ends only where the next word does not fit."""
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)
    lines = [line.rstrip() for line in unseen("run", "--help").out.split("╭")[0].splitlines()]
    assert max(map(len, lines)) <= width
    for line, after in pairwise(lines):
        if line.strip() and after.strip():
            assert len(line) + 1 + len(after.split()[0]) > width - 2, line
