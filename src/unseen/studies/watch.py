"""What is told while a study runs, to whoever shows it: a command, a notebook, or nobody."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from unseen.probes.image_cell import Stepping
from unseen.studies.plan import Plan

if TYPE_CHECKING:
    from unseen.features.progress import Progress

T = TypeVar("T")


class Watch(Protocol):
    """Receives the progress of a study, which commands print and notebooks show as bars.

    It may be pickled for processes that run jobs, which only call `tell`.
    """

    def planned(self, plan: Plan) -> None:
        """Called with the plan before the work starts."""

    def tell(self, sentence: str) -> None:
        """Called with a message for the user."""

    def extracting(self, domain: str, split: str) -> "Callable[[Progress], None]":
        """A function to call with the progress of the extraction of a split."""

    def stepping(self, what: str, total: int) -> Stepping:
        """A function to call with the number of every step of a long computation, such as a training."""

    def started(self, left: int, jobs: int, seconds: float) -> None:
        """Called with the number of missing jobs, of all jobs, and the estimated seconds."""

    def stage_started(self, left: int, seconds: float) -> None:
        """Called with those of one stage of several, after `started`."""

    def track(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        """Yields items when they are done; `total` is their number, if known."""


class Silent:
    """A watch that shows nothing."""

    def planned(self, plan: Plan) -> None:
        pass

    def tell(self, sentence: str) -> None:
        pass

    def extracting(self, domain: str, split: str) -> "Callable[[Progress], None]":
        return lambda progress: None

    def stepping(self, what: str, total: int) -> Stepping:
        return lambda step, detail="": None

    def started(self, left: int, jobs: int, seconds: float) -> None:
        pass

    def stage_started(self, left: int, seconds: float) -> None:
        pass

    def track(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        yield from items
