"""Progress bars of long calls in Python, shown only in a notebook or a terminal."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

    from unseen.features.progress import Progress as Extraction
    from unseen.probes.image_cell import Stepping
    from unseen.studies.plan import Plan

T = TypeVar("T")


@contextmanager
def bars(*, show: bool = True) -> "Iterator[Bars]":
    """A `Watch` with progress bars that disappear at the end, in a terminal or in a notebook that has ipywidgets."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    notebook = console.is_jupyter and find_spec("ipywidgets") is not None  # without it, rich warns at every refresh
    if not show or not (notebook or (console.is_terminal and not console.is_jupyter)):
        yield Bars()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bars(progress)


class Bars:
    """A `Watch` that shows progress bars and sends messages to the logger `unseen`."""

    def __init__(self, progress: "Progress | None" = None) -> None:
        self._progress = progress

    def __reduce__(self) -> "tuple[type[Bars], tuple[()]]":
        """Pickled for another process, it has no bars but still logs messages."""
        return Bars, ()

    def planned(self, plan: "Plan") -> None:
        """Show nothing: callers get the plan with `dry_run=True`."""

    def tell(self, sentence: str) -> None:
        logging.getLogger("unseen").warning(sentence)

    def extracting(self, domain: str, split: str) -> "Callable[[Extraction], None]":
        advance = self._bar(f"{domain}, {split}: images")
        return lambda progress: advance(progress.done, progress.total)

    def stepping(self, what: str, total: int) -> "Stepping":
        advance = self._bar(f"{what}: steps")
        return lambda step, detail="": advance(step, total, detail)

    def started(self, left: int, jobs: int, seconds: float) -> None:
        """Show nothing: the bar shows the number of jobs."""

    def stage_started(self, left: int, seconds: float) -> None:
        """Show nothing, as above."""

    def track(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        advance = self._bar(what)
        for done, item in enumerate(items, start=1):
            advance(done, total)
            yield item

    def _bar(self, what: str) -> Callable[..., None]:
        """A function that updates a bar, which appears at its first call and disappears when everything is done."""
        if self._progress is None:
            return lambda *_: None
        progress, task = self._progress, None

        def show(done: int, total: int | None, detail: str = "") -> None:
            nonlocal task
            task = progress.add_task(what, total=total) if task is None else task
            shown = f"{what}, {detail}" if detail else what
            progress.update(task, completed=done, total=total, visible=done != total, description=shown)

        return show
