"""What commands print: tables on a terminal, JSON for scripts, progress on standard error."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
SECONDS_BETWEEN_LINES = 10.0


def console() -> "Console":
    """A console on standard output; names and file paths are never read as markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()
) -> None:
    """Print a table; columns named in `right` are aligned there. On a narrow terminal long cells fold."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title), title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    out = console()
    out.soft_wrap = False
    out.print(table)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def note(text: str) -> None:
    """A remark on standard error, out of the way of what a script reads."""
    typer.echo(text, err=True)


def track(items: Iterable[T], what: str) -> Iterator[T]:
    """Pass items on, showing how many have gone by and at what rate."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} {task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield from progress.track(items, description=what, total=None)
        return
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last > SECONDS_BETWEEN_LINES:
            note(f"{done:,} {what}, {done / (now - start):,.1f} a second")
            last = now
