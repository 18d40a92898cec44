"""Commands with several modes: which options belong to which mode."""

from collections.abc import Collection, Mapping

import typer

from unseen.errors import UserError


def given_options(context: typer.Context) -> list[str]:
    """The parameters that the user gave, by their names in Python."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def chosen_mode(asked: Mapping[str, bool]) -> str:
    """The one of several exclusive options that was given; `""` if none was."""
    given = [mode for mode, wanted in asked.items() if wanted]
    if len(given) > 1:
        raise UserError(f"{given[0]} and {given[1]} cannot be combined; give one of them")
    return given[0] if given else ""


def option_name(context: typer.Context, name: str) -> str:
    """The name of a parameter on the command line, such as `--imagenet-1k`."""
    for parameter in context.command.params:
        if parameter.name == name:
            return str(parameter.opts[0]) if parameter.param_type_name == "option" else name.upper()
    raise KeyError(name)


def refuse_options(context: typer.Context, modes: Mapping[str, Collection[str]], mode: str) -> None:
    """Refuse options that do not belong to the chosen mode.

    Args:
        modes: option of a mode → the parameters of that mode; `""` is the mode without any of these options.
        mode: the chosen one.
    """
    for name in given_options(context):
        if name in modes[mode]:
            continue
        option = option_name(context, name)
        others = [other for other, names in modes.items() if name in names and other]
        if mode:
            raise UserError(f"{option} cannot be used with {mode}; leave it out")
        raise UserError(f"{option} needs {' or '.join(others)}; add it, or leave out {option}")
