"""The tree of commands: what is at its top, where old names went, which options go together, what shells complete."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from unseen.cli import ls, options
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
        (["concepts", "--finetune", "--check"], "--finetune and --check are separate steps"),
        (["concepts", "--finetune", "--features", "f"], "--features does not go with --finetune"),
        (["concepts", "--label-noise", "--shots", "1"], "--shots does not go with --label-noise"),
        (["concepts", "--check", "--imagenet-1k", "i", "--levels", "cog-v1"], "--levels does not go with --check"),
        (["concepts", "--backbone", "timm:a", "--epochs", "3"], "--epochs is for --finetune"),
        (["concepts", "--features", "f", "--page", "p.html"], "--page is for --label-noise"),
        (["tasks", "--finetune", "--backbone", "a", "--limit", "3"], "--limit does not go with --finetune"),
        (["tasks", "--backbone", "timm:a", "--trials", "3"], "--trials is for --finetune"),
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
    assert "--pool is for NAME" in unseen("ls", "backbones", "--pool", "avg").err
    assert "--catalogue does not go with NAME" in unseen("ls", "backbones", "timm:a", "--catalogue").err


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
    assert {*LOGISTIC, *PROTOCOLS} <= {row[0] for row in ls.PROTOCOLS}
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


def test_help_joins_the_lines_of_docstrings() -> None:
    for name, command in COMMANDS.items():
        assert "\n" not in command.help.replace("\n\n", ""), name
