"""The tree that a command line asks for has the same help as the whole one, and the parameters of what it names."""

import pytest
import typer

from unseen.cli.asked import asked_for
from unseen.cli.main import app


def parameters(tree: typer.Typer, *names: str) -> int:
    command = typer.main.get_command(tree)
    for name in names:
        command = command.commands[name]  # type: ignore[attr-defined]
    return len(command.params)


@pytest.mark.parametrize(("words", "named", "other"), [
    (["report", "page"], ["report"], ["run"]),
    (["levels", "show", "cog-v2"], ["levels", "show"], ["levels", "build"]),
    (["papers", "tables"], ["papers", "tables"], ["ls"]),
])  # fmt: skip
def test_what_is_named_has_its_parameters(words: list[str], named: list[str], other: list[str]) -> None:
    tree = asked_for(app, words)
    assert parameters(tree, *named) == parameters(app, *named) > 1
    assert parameters(tree, *other) < parameters(app, *other)


def test_every_command_is_there_with_its_help() -> None:
    def helps(group: object) -> dict[str, object]:
        below = getattr(group, "commands", None)
        return {name: (each.get_short_help_str(), helps(each)) for name, each in below.items()} if below else {}

    assert helps(typer.main.get_command(asked_for(app, []))) == helps(typer.main.get_command(app))


def test_the_whole_tree_is_left_as_it_is() -> None:
    before = parameters(app, "run")
    asked_for(app, [])
    assert parameters(app, "run") == before > 10
