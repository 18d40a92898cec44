"""Handing out jobs to workers: who gets which, and what becomes of the jobs of one that dies.

Workers (processes on this machine, actors of Ray) take pieces of work from one queue, so a slow one holds up nobody. A
worker goes on with the group that it has worked on, whose features it has at hand; one that has no such group takes
from the group that has the most left. What a dead worker had not finished is given out again, a few times at most. An
error in one job does not stop the others: it is raised when they are done, and the next run does what is missing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Generic, Protocol, TypeVar

from unseen.errors import ImageError, UserError

J = TypeVar("J")
Job_contra = TypeVar("Job_contra", contravariant=True)
HOPELESS = 3
"""So many failures without any success, and no more work is given out."""


@dataclass(frozen=True)
class Piece(Generic[J]):
    """Jobs that one worker is given at a time.

    Attributes:
        group: number of the group that they are of.
        cost: of all of them.
        deaths: of workers that had it before.
    """

    jobs: tuple[J, ...]
    group: int
    cost: float
    deaths: int = 0


@dataclass(frozen=True)
class Ready:
    """A worker has started."""

    worker: int


@dataclass(frozen=True)
class Done:
    """A worker has finished a job, by its number in the piece."""

    worker: int
    job: int


@dataclass(frozen=True)
class Failed:
    """Some jobs of a worker's piece ended in an error."""

    worker: int
    jobs: Sequence[int]
    error: Exception


@dataclass(frozen=True)
class Finished:
    """A worker has no more to do."""

    worker: int


@dataclass(frozen=True)
class Lost:
    """A worker has died, or the machine that it was on."""

    worker: int


Event = Ready | Done | Failed | Finished | Lost


class Team(Protocol[Job_contra]):
    """Workers, numbered from 0, that have been started or are about to."""

    @property
    def size(self) -> int: ...
    @property
    def most_deaths(self) -> int:
        """How often a piece may be given out again."""

    @property
    def lost(self) -> str:
        """A sentence on workers that were lost."""

    def give(self, worker: int, jobs: Sequence[Job_contra], /) -> None:
        """Have a worker that is ready or finished do some jobs."""

    def wait(self) -> Iterable[Event]:
        """What has happened, as soon as something has."""

    def restart(self, worker: int, /) -> None:
        """Start a worker in place of one that was lost."""

    def close(self, *, now: bool) -> None:
        """End all workers; `now` though they may be at work."""


def spread(
    groups: Sequence[Sequence[J]], cost: Callable[[J], float], workers: int, *, together: bool
) -> list[Piece[J]]:
    """Cut groups into pieces, each of jobs that one call had better compute.

    Args:
        together: whether the jobs of a group are best computed by one call, as on a GPU. A group then is one piece,
            unless it is more than half of a worker's fair share: then it is cut, so that workers end together.
    """
    total = sum(cost(job) for group in groups for job in group)
    share = total / (2 * workers) if workers > 1 else total
    pieces: list[Piece[J]] = []
    for number, group in enumerate(groups):
        whole = sum(cost(job) for job in group)
        parts = min(len(group), ceil(whole / share)) if together and share else len(group)
        found = deal(list(group), cost, max(parts, 1)) if together else [[job] for job in group]
        pieces += [Piece(tuple(jobs), number, sum(map(cost, jobs))) for jobs in found]
    return pieces


def deal(items: Sequence[J], cost: Callable[[J], float], parts: int) -> list[list[J]]:
    """Items in so many parts of about the same cost: the costliest first, each to the part that has the least.

    The order of items is kept within a part. Equal costs are dealt out in order, so who deals again gets the same.
    """
    loads, where = [0.0] * parts, [0] * len(items)
    for number in sorted(range(len(items)), key=lambda number: -cost(items[number])):
        part = loads.index(min(loads))
        loads[part] += cost(items[number])
        where[number] = part
    return [[item for item, place in zip(items, where, strict=True) if place == part] for part in range(parts)]


class Queue(Generic[J]):
    """Pieces that nobody has."""

    def __init__(self, pieces: Iterable[Piece[J]]) -> None:
        self._groups: dict[int, list[Piece[J]]] = {}
        for piece in sorted(pieces, key=lambda piece: piece.cost):  # the costliest is taken first, from the end
            self._groups.setdefault(piece.group, []).append(piece)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def take(self, last: int | None) -> Piece[J]:
        """The next piece for a worker whose last piece was of that group."""
        if last not in self._groups:
            last = max(self._groups, key=lambda group: sum(piece.cost for piece in self._groups[group]))
        pieces = self._groups[last]
        piece = pieces.pop()
        if not pieces:
            del self._groups[last]
        return piece

    def put_back(self, piece: Piece[J]) -> None:
        self._groups.setdefault(piece.group, []).append(piece)

    def clear(self) -> None:
        self._groups.clear()


class _Pool(Generic[J]):
    """A team at work."""

    def __init__(self, pieces: Sequence[Piece[J]], team: Team[J]) -> None:
        self.queue, self.team = Queue(pieces), team
        self.at_work: dict[int, tuple[Piece[J], set[int]]] = {}
        self.idle: set[int] = set()
        self.last: dict[int, int] = {}
        self.failures: list[Exception] = []
        self.done = self.deaths = 0

    def run(self) -> Iterator[J]:
        while self.queue or self.at_work:
            for event in self.team.wait():
                if isinstance(event, Done):
                    piece, left = self.at_work[event.worker]
                    left.discard(event.job)
                    self.done += 1
                    yield piece.jobs[event.job]
                else:
                    self._take_note(event)
            while self.queue and self.idle:
                self._give(self.idle.pop())

    def _take_note(self, event: Ready | Failed | Finished | Lost) -> None:
        if isinstance(event, Failed):
            self.failures.append(event.error)
            self.at_work[event.worker][1].difference_update(event.jobs)
        elif isinstance(event, Lost):
            self._lose(event.worker)
        else:
            self.at_work.pop(event.worker, None)
            self.idle.add(event.worker)
        if len(self.failures) >= HOPELESS and not self.done:
            self.queue.clear()

    def _give(self, worker: int) -> None:
        piece = self.queue.take(self.last.get(worker))
        self.last[worker] = piece.group
        self.at_work[worker] = (piece, set(range(len(piece.jobs))))
        self.team.give(worker, piece.jobs)

    def _lose(self, worker: int) -> None:
        """Give out again what a dead worker had not finished, unless others have died of it."""
        self.idle.discard(worker)
        piece, left = self.at_work.pop(worker, (None, set[int]()))
        self.deaths += 1
        if piece is not None and left:
            rest = replace(piece, jobs=tuple(piece.jobs[number] for number in sorted(left)), deaths=piece.deaths + 1)
            if rest.deaths > self.team.most_deaths:
                self.failures.append(UserError(self.team.lost))
            else:
                self.queue.put_back(rest)
        if self.deaths > (self.team.most_deaths + 1) * max(self.team.size, 2):
            self.failures += [UserError(self.team.lost)] if self.queue else []
            self.queue.clear()
        if self.queue:
            self.team.restart(worker)


def run_pool(pieces: Sequence[Piece[J]], team: Team[J]) -> Iterator[J]:
    """Have a team do some pieces, and pass on each job as it is done; errors are raised when all others are done."""
    pool = _Pool(pieces, team)
    try:
        yield from pool.run()
    except BaseException:
        team.close(now=True)
        raise
    team.close(now=False)
    _raise(pool.failures)


def _raise(failures: Sequence[Exception]) -> None:
    """The first of some errors, with how many more there were."""
    if not failures:
        return
    first = next((error for error in failures if not isinstance(error, UserError)), failures[0])
    if len(failures) == 1 or not isinstance(first, UserError):
        raise first
    more = len(failures) - 1
    kind = ImageError if all(isinstance(error, ImageError) for error in failures) else UserError
    raise kind(
        f"{first} ({more} more {'failure' if more == 1 else 'failures'}; the other jobs are done, and the same command "
        "does those that are missing)"
    )
