"""Commands that do one of several things: which options go with which."""

from collections.abc import Collection, Mapping

import typer

from unseen.errors import UserError


def given_options(context: typer.Context) -> list[str]:
    """The parameters of a command that the user gave, by their names in Python."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def chosen_mode(asked: Mapping[str, bool]) -> str:
    """Which of several options was given, of which only one can be; `""` where none was."""
    given = [mode for mode, wanted in asked.items() if wanted]
    if len(given) > 1:
        raise UserError(f"{given[0]} and {given[1]} cannot be combined; give one of them")
    return given[0] if given else ""


def option_name(context: typer.Context, name: str) -> str:
    """What the user calls a parameter, `--imagenet-1k` for instance."""
    for parameter in context.command.params:
        if parameter.name == name:
            return str(parameter.opts[0]) if parameter.param_type_name == "option" else name.upper()
    raise KeyError(name)


def refuse_options(context: typer.Context, modes: Mapping[str, Collection[str]], mode: str) -> None:
    """Refuse what was given and does not go with what is to be done.

    Args:
        modes: the parameters that each mode takes, by the option that asks for it; `""` is what the command does
            without any of these options.
        mode: the one that was asked for.
    """
    for name in given_options(context):
        if name in modes[mode]:
            continue
        option = option_name(context, name)
        others = [other for other, names in modes.items() if name in names and other]
        if mode:
            raise UserError(f"{option} cannot be used with {mode}; leave it out")
        raise UserError(f"{option} needs {' or '.join(others)}; add it, or leave out {option}")
