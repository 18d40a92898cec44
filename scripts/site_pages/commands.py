"""The command reference, from the Typer application: every command with its arguments, options, defaults and help."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from unseen.cli.main import app

NOTES = re.compile(r"\s*\[((?:default|required|x)[^\]]*|[^\]]*required)\]$")
"""What Typer puts behind the help of a parameter: `[default: 5; x>=1]`, `[required]`."""


def command_reference() -> str:
    root: Any = typer.main.get_command(app)
    lines = [
        "# Command reference",
        "",
        "Every command with all its options, as `--help` prints them. Text in angle brackets stands for a value.",
        "",
        "Lists of names and numbers may be repeated or separated by commas: `--id photos --id web` is the same as "
        "`--id photos,web`. Double quotes protect a comma within a name: `--name '\"ResNet-50, ours\"'`. Options for "
        "paths and for values with commas of their own are only repeated. Any other option that is given twice is "
        "refused.",
        "",
    ]
    commands = list(_commands(root, typer.Context(root, info_name="unseen")))
    for context in commands:
        lines.append(f"- [`{context.command_path}`](#{_anchor(context)}): {_first_sentence(context.command.help)}")
    for context in commands:
        lines += ["", *_section(context)]
    return "\n".join(lines) + "\n"


def _commands(command: Any, context: typer.Context) -> Iterator[typer.Context]:
    """The contexts of the commands below a group, in the order of its help; hidden ones are left out."""
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        inner = typer.Context(below, info_name=name, parent=context)
        if below.hidden:
            continue
        if hasattr(below, "list_commands"):
            yield from _commands(below, inner)
        else:
            yield inner


def _section(context: typer.Context) -> Iterator[str]:
    command: Any = context.command
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from (f"## `{context.command_path}` {{ #{_anchor(context)} }}", "", "```text", usage, "```", "")
    yield escaped(command.help or "", table=False)
    panels: dict[str, list[Any]] = {"Arguments": arguments} if arguments else {}
    for each in shown:
        if each not in arguments:
            panels.setdefault(getattr(each, "rich_help_panel", None) or "Options", []).append(each)
    for panel, params in panels.items():
        name = "argument" if panel == "Arguments" else "option"
        yield from ("", f"**{panel}**", "", f"| {name} | what it does | default |", "| --- | --- | --- |")
        for each in params:
            declared, text = each.get_help_record(context) or (each.name, "")
            match = NOTES.search(text)
            notes = [note.removeprefix("default:").strip() for note in match[1].split(";")] if match else []
            default = ", ".join(f"`{note}`" if note != "required" else "required" for note in notes)
            yield f"| {_code(declared)} | {escaped(text[: match.start()] if match else text)} | {_bars(default)} |"


def _anchor(context: typer.Context) -> str:
    return context.command_path.replace(" ", "-")


def _first_sentence(text: str | None) -> str:
    return escaped(re.split(r"(?<=[.!?])\s", (text or "").strip())[0], table=False)


def _code(text: str) -> str:
    return _bars(f"`{text}`")


def _bars(text: str) -> str:
    """A bar would end the cell of a table."""
    return text.replace("|", "\\|")


def escaped(text: str, *, table: bool = True) -> str:
    """Help as Markdown: Typer's own marks of paragraphs go, and what looks like HTML or a link is kept as text."""
    text = text.replace("\b", "").strip()
    text = re.sub(r"([<\[\]*_])", r"\\\1", text) if "`" not in text else text.replace("<", "&lt;")
    return _bars(" ".join(text.split())) if table else text
