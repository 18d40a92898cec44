"""Progress of long calls, in a notebook or a terminal."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def tracked(items: Iterable[T], what: str, total: int, *, show: bool) -> Iterator[T]:
    """Pass items on, with a bar of how many have gone by."""
    with progress_bar(what, show=show) as advance:
        for done, item in enumerate(items, start=1):
            advance(done, total)
            yield item


@contextmanager
def progress_bar(what: str, *, show: bool) -> Iterator[Callable[[int, int], None]]:
    """A function to call with what is done and what there is; it draws a bar in a terminal or a notebook only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not show or not (console.is_terminal or console.is_jupyter):
        yield lambda done, total: None
        return
    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
