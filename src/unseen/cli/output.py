"""Output of commands: tables, JSON for scripts, progress on standard error."""

import json
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from unseen.cli.starting import started
from unseen.text.words import counted as counted  # noqa: PLC0414 - commands take these from here
from unseen.text.words import duration as duration  # noqa: PLC0414
from unseen.text.words import printable
from unseen.text.words import rate as rate  # noqa: PLC0414

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
SECONDS_BETWEEN_LINES = 10.0


def console() -> "Console":
    """A console on standard output; names and paths are never interpreted as markup or control characters."""
    started()
    from rich.console import Console

    class Printer(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(printable(each) if isinstance(each, str) else each for each in objects), **options)

    # In pipes and files lines are not folded, so that ids can be searched for.
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 1000
    return Printer(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()
) -> None:
    """Print a table; columns named in `right` are right-aligned. On a narrow terminal long cells fold."""
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(printable(column), justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(" ".join(str(cell).split("\n")))) for cell in row))  # a name is in one line
    out = console()
    out.soft_wrap = False
    if title:
        out.print(Text(printable(title), style="bold"))  # a title of the table itself would fold at its width
    out.print(table)


def print_json(value: Any) -> None:
    """Print JSON; numbers that JSON does not have (infinity, not a number) are null."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    typer.echo("".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], *, as_json: bool) -> None:
    """Print a list as a table, or as one JSON object per row."""
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("", columns, rows)


def note(text: str) -> None:
    """Print a notice on standard error, so that standard output stays readable for scripts."""
    started()
    typer.echo(printable(text), err=True)


def track(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield items, printing their number, the rate and, with a total, the time left."""
    if sys.stderr.isatty():
        started()
        yield from _track_on_terminal(items, what, total)
        return
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last > SECONDS_BETWEEN_LINES:
            speed = done / (now - start)
            of = f" of {total:,}" if total else ""
            left = f", {duration((total - done) / speed)} left" if total else ""
            note(f"{done:,}{of} {what}, {rate(speed)}{left}")
            last = now


def _track_on_terminal(items: Iterable[T], what: str, total: int | None) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    count = TextColumn("{task.completed:,.0f}" + (" of {task.total:,.0f}" if total else "") + " {task.description}")
    rest = (BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), TextColumn("left")) if total else ()
    columns = (SpinnerColumn(), count, TimeElapsedColumn(), *rest)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total, rate="")
        start = time.monotonic()
        for done, item in enumerate(items, start=1):
            yield item
            progress.update(task, completed=done, rate=f"{rate(done / (time.monotonic() - start))},")
