"""The tree of commands, with parameters only for the commands that the arguments name.

Typer builds all parameters of all commands before it reads the first argument, which takes longer than `--help` should.
"""

from collections.abc import Collection
from copy import copy

import typer
from typer.models import CommandInfo


def asked_for(app: typer.Typer, words: Collection[str]) -> typer.Typer:
    """A copy of `app` in which commands that no word names keep their help and lose their parameters."""
    pruned = copy(app)
    pruned.registered_commands = [
        info if _name(info) in words else _without_parameters(info) for info in app.registered_commands
    ]
    pruned.registered_groups = []
    for group in app.registered_groups:
        below = copy(group)
        if group.typer_instance is not None:
            below.typer_instance = asked_for(group.typer_instance, words)
        pruned.registered_groups.append(below)
    return pruned


def _name(info: CommandInfo) -> str:
    return info.name or getattr(info.callback, "__name__", "").replace("_", "-")


def _without_parameters(info: CommandInfo) -> CommandInfo:
    bare = copy(info)
    bare.name, bare.callback = _name(info), _never_called
    return bare


def _never_called() -> None:
    """The callback of commands that no argument names."""
