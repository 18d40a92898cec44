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

from unseen.cli import options
from unseen.cli.ls.commands import PROTOCOLS as LISTED
from unseen.cli.main import app
from unseen.cli.moved import MOVED

Unseen = Callable[..., Any]
TOP = {
    "demo", "probe", "extract", "concepts", "tasks", "shifts", "report", "leaderboard", "papers", "levels", "ls",
    "doctor", "export", "check",
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


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_gives_the_new_one(unseen: Unseen, old: str) -> None:
    answer = unseen(*old.split(), "anything", "--any", 3)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"unseen: '{old}' is now 'unseen {MOVED[old]}'\n"
    new = MOVED[old].split()
    names = [word for word in new if not word.startswith("--")]
    command = COMMANDS[" ".join(names)]
    assert {word for word in new if word.startswith("--")} <= {name for p in command.params for name in p.opts}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["concepts", "--finetune", "--check"], "--finetune and --check cannot be combined"),
        (["concepts", "--finetune", "--features", "f"], "--features cannot be used with --finetune"),
        (["concepts", "--label-noise", "--shots", "1"], "--shots cannot be used with --label-noise"),
        (["concepts", "--check", "--imagenet-1k", "i", "--levels", "cog-v1"], "--levels cannot be used with --check"),
        (["concepts", "--backbone", "timm:a", "--epochs", "3"], "--epochs needs --finetune"),
        (["concepts", "--features", "f", "--page", "p.html"], "--page needs --label-noise"),
        (["tasks", "--finetune", "--backbone", "a", "--limit", "3"], "--limit cannot be used with --finetune"),
        (["tasks", "--backbone", "timm:a", "--trials", "3"], "--trials needs --finetune"),
        (["tasks", "--finetune", "--backbone", "timm:a"], "--finetune needs --backbone and --datasets"),
    ],
)
def test_options_that_do_not_go_together(unseen: Unseen, tmp_path: Path, words: list[str], message: str) -> None:
    answer = unseen(*words, "--out", tmp_path / "run")
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_every_option_goes_with_something() -> None:
    from unseen.cli import concepts, tasks

    for module, command in ((concepts, "concepts"), (tasks, "tasks")):
        known = {parameter.name for parameter in COMMANDS[command].params}
        assert set().union(*module.MODES.values()) == known


def test_a_backbone_is_shown_or_listed(unseen: Unseen) -> None:
    assert "--pool needs NAME" in unseen("ls", "backbones", "--pool", "avg").err
    assert "--catalogue cannot be used with NAME" in unseen("ls", "backbones", "timm:a", "--catalogue").err


def test_choices_are_those_of_the_code() -> None:
    from unseen.backbones.backbone import Pool
    from unseen.features.settings import Precision
    from unseen.images.transform import NORMALISATIONS
    from unseen.probes.many_shot import PROTOCOLS
    from unseen.probes.protocol import PROTOCOLS as LOGISTIC
    from unseen.studies.concepts.variants import RULES

    def words(option: Any) -> list[str]:
        return str(option.__metadata__[0].metavar).strip("[]").split("|")

    assert words(options.PoolOption) == list(get_args(Pool))
    assert words(options.PrecisionOption) == list(get_args(Precision))
    assert words(options.NormalizeOption) == list(NORMALISATIONS)
    assert words(options.VariantOption) == list(RULES)
    shown = {name: p.metavar for name in TOP for p in COMMANDS[name].params if p.name == "protocol"}
    assert shown["concepts"] == f"[{'|'.join(LOGISTIC)}]"
    assert {*LOGISTIC, *PROTOCOLS} <= {row[0] for row in LISTED}
    assert shown["tasks"] == f"[{'|'.join(PROTOCOLS)}]"


def complete(line: str) -> list[str]:
    environment = os.environ | {"_UNSEEN_COMPLETE": "complete_bash", "COMP_WORDS": line}
    environment["COMP_CWORD"] = str(len(line.split(" ")) - 1)
    command = [str(Path(sys.executable).parent / "unseen")]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment).stdout.split()


def test_shells_complete_commands_and_choices() -> None:
    assert complete("unseen pa") == ["papers"]
    assert complete("unseen concepts --pool cl") == ["cls", "cls+avg"]


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
    lines = [line.rstrip() for line in unseen("tasks", "--help").out.split("╭")[0].splitlines()]
    assert max(map(len, lines)) <= width
    for line, after in pairwise(lines):
        if line.strip() and after.strip():
            assert len(line) + 1 + len(after.split()[0]) > width - 2, line
