"""Distribution of jobs to workers, and recovery of the jobs of workers that die.

Workers (processes on this machine, actors of Ray) take pieces of work from one queue, so a slow worker does not hold up
the others. A worker continues with its last group, whose features it has in memory; otherwise it takes from the group
with the most work left. The unfinished jobs of a dead worker are handed out again, a few times at most. An error in one
job does not stop the others: it is raised when they are done, and the next run repeats only the missing jobs. The
same holds for jobs in this process (`one_by_one`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Generic, Protocol, TypeVar

from unseen.errors import ImageError, JobsError, UserError

J = TypeVar("J")
T = TypeVar("T")
Job_contra = TypeVar("Job_contra", contravariant=True)
HOPELESS = 3
"""After this many failures without any success, no more work is handed out."""


@dataclass(frozen=True)
class Piece(Generic[J]):
    """Jobs that one worker gets at a time.

    Attributes:
        group: number of the group of the jobs.
        cost: total cost of the jobs.
        deaths: number of workers that died with this piece.
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
    """Some jobs of a worker's piece have failed with an error."""

    worker: int
    jobs: Sequence[int]
    error: Exception


@dataclass(frozen=True)
class Finished:
    """A worker has no more to do."""

    worker: int


@dataclass(frozen=True)
class Lost:
    """A worker, or its machine, has died."""

    worker: int


Event = Ready | Done | Failed | Finished | Lost


class Team(Protocol[Job_contra]):
    """Workers, numbered from 0, that are running or starting."""

    @property
    def size(self) -> int: ...
    @property
    def most_deaths(self) -> int:
        """How often a piece may be handed out again."""

    @property
    def lost(self) -> str:
        """The error message for lost workers."""

    def give(self, worker: int, jobs: Sequence[Job_contra], /) -> None:
        """Hand jobs to a worker that is ready or finished."""

    def wait(self) -> Iterable[Event]:
        """Wait for the next events."""

    def restart(self, worker: int, /) -> None:
        """Start a replacement for a lost worker."""

    def close(self, *, now: bool) -> None:
        """Stop all workers; with `now`, even if they are working."""


def spread(
    groups: Sequence[Sequence[J]], cost: Callable[[J], float], workers: int, *, together: bool
) -> list[Piece[J]]:
    """Cut groups into pieces of jobs that are best computed by one call.

    Args:
        together: whether the jobs of a group are best computed by one call, as on a GPU. A group is then one piece,
            unless it is more than half of the fair share of a worker: then it is cut, so that workers finish together.
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
    """Divide items into parts of about the same cost: the costliest first, each to the cheapest part so far.

    The order of items is kept within a part. The result is deterministic: items of equal cost are assigned in order.
    """
    loads, where = [0.0] * parts, [0] * len(items)
    for number in sorted(range(len(items)), key=lambda number: -cost(items[number])):
        part = loads.index(min(loads))
        loads[part] += cost(items[number])
        where[number] = part
    return [[item for item, place in zip(items, where, strict=True) if place == part] for part in range(parts)]


class Queue(Generic[J]):
    """The pieces that no worker has."""

    def __init__(self, pieces: Iterable[Piece[J]]) -> None:
        self._groups: dict[int, list[Piece[J]]] = {}
        for piece in sorted(pieces, key=lambda piece: piece.cost):  # the costliest is taken first, from the end
            self._groups.setdefault(piece.group, []).append(piece)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def take(self, last: int | None) -> Piece[J]:
        """The next piece for a worker, given the group of its last piece."""
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
    """A team that works on pieces."""

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
        """Hand out the unfinished jobs of a dead worker again, unless too many workers died with them."""
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
    """Let a team work on pieces, and yield each finished job; errors are raised after all other jobs are done."""
    pool = _Pool(pieces, team)
    try:
        yield from pool.run()
    except BaseException:
        team.close(now=True)
        raise
    team.close(now=False)
    raise_failures(pool.failures, pool.done)


def one_by_one(groups: Iterable[T], compute: Callable[[T], Iterable[J]]) -> Iterator[J]:
    """Compute groups one after another, and yield what is done; a user's errors are raised after all others.

    After several failures in a row, no more groups are computed.
    """
    failures, in_a_row, done = list[Exception](), 0, 0
    for group in groups:
        try:
            for job in compute(group):
                done, in_a_row = done + 1, 0
                yield job
        except UserError as error:
            failures.append(error)
            in_a_row += 1
            if in_a_row == HOPELESS:
                break
    raise_failures(failures, done)


def raise_failures(failures: Sequence[Exception], done: int) -> None:
    """Raise what went wrong, if anything: a defect of the program itself, or one error that names the first of all.

    Args:
        done: number of jobs that did not fail.
    """
    if not failures:
        return
    first = next((error for error in failures if not isinstance(error, UserError)), failures[0])
    if not isinstance(first, UserError):
        raise first
    together = JobsError([str(error) for error in failures], done)
    raise ImageError(str(together)) if all(isinstance(error, ImageError) for error in failures) else together
