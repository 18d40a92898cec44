"""Handing out work: fair, with features kept at hand, and safe against workers that die or fail."""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence

import pytest

from unseen.errors import UserError
from unseen.runs.pool import Done, Event, Failed, Finished, Lost, Queue, Ready, deal, run_pool, spread


def itself(number: float) -> float:
    return number


def test_items_are_dealt_fairly_in_order_and_the_same_each_time() -> None:
    found = deal([5, 1, 4, 3, 2, 3], itself, 3)
    assert sorted(map(sum, found)) == [6, 6, 6]
    assert found == deal([5, 1, 4, 3, 2, 3], itself, 3)
    assert deal([1, 1, 1, 1], itself, 2) == [[1, 1], [1, 1]]
    assert deal([7], itself, 3) == [[7], [], []]


def test_groups_are_cut_only_where_they_are_more_than_half_a_fair_share() -> None:
    six = [[1.0] * 4] * 6
    assert [len(piece.jobs) for piece in spread(six, itself, 1, together=True)] == [4] * 6
    assert [len(piece.jobs) for piece in spread(six, itself, 3, together=True)] == [4] * 6
    halves = spread(six, itself, 4, together=True)
    assert [len(piece.jobs) for piece in halves] == [2] * 12
    assert [piece.group for piece in halves] == sorted([*range(6)] * 2)
    alone = spread([[3.0, 1.0], [2.0]], itself, 4, together=False)
    assert [(piece.jobs, piece.group) for piece in alone] == [((3.0,), 0), ((1.0,), 0), ((2.0,), 1)]


def test_a_worker_stays_with_its_group_and_then_helps_where_most_is_left() -> None:
    queue = Queue(spread([[1.0, 2.0], [5.0, 1.0, 1.0], [4.0]], itself, 2, together=False))
    assert [(piece.group, piece.cost) for piece in (queue.take(None), queue.take(None))] == [(1, 5), (2, 4)]
    assert [(piece.group, piece.cost) for piece in (queue.take(1), queue.take(2), queue.take(1))] == [
        (1, 1),
        (0, 2),
        (1, 1),
    ]
    assert queue.take(1).cost == 1
    assert not queue


class Script:
    """Workers that do as they are told: jobs that kill, so often, and jobs that fail."""

    most_deaths = 1
    lost = "killed"

    def __init__(self, workers: int, kills: dict[int, int], fails: Collection[int] = ()) -> None:
        self.size = workers
        self.kills, self.fails = Counter(kills), fails
        self.events: deque[Event] = deque(Ready(number) for number in range(workers))
        self.given: list[tuple[int, list[int]]] = []
        self.closed: list[bool] = []

    def give(self, worker: int, jobs: Sequence[int], /) -> None:
        self.given.append((worker, list(jobs)))
        for number, job in enumerate(jobs):
            if self.kills[job] > 0:
                self.kills[job] -= 1
                self.events.append(Lost(worker))
                return
            failed = Failed(worker, [number], UserError(f"{job} failed")) if job in self.fails else None
            self.events.append(failed or Done(worker, number))
        self.events.append(Finished(worker))

    def wait(self) -> Iterator[Event]:
        yield self.events.popleft()

    def restart(self, worker: int, /) -> None:
        self.events.append(Ready(worker))

    def close(self, *, now: bool) -> None:
        self.closed.append(now)


def pieces(*groups: Sequence[int]) -> list[object]:
    return spread(groups, lambda _: 1.0, 1, together=True)  # type: ignore[return-value]


def test_what_a_dead_worker_had_left_is_done_by_others() -> None:
    team = Script(2, {2: 1})
    assert sorted(run_pool(pieces([1, 2, 3], [4]), team)) == [1, 2, 3, 4]  # type: ignore[arg-type]
    assert [jobs for _, jobs in team.given] == [[1, 2, 3], [4], [2, 3]]
    assert team.closed == [False]


def test_a_piece_that_kills_every_worker_is_given_up_and_the_rest_is_done() -> None:
    team, done = Script(2, {2: 9}), list[int]()
    with pytest.raises(UserError, match="killed"):
        done.extend(run_pool(pieces([2], [1], [3]), team))  # type: ignore[arg-type]
    assert sum(jobs == [2] for _, jobs in team.given) == 2
    assert {jobs[0] for _, jobs in team.given} == {1, 2, 3}


def test_endless_deaths_end() -> None:
    team = Script(1, dict.fromkeys(range(50), 9))
    with pytest.raises(UserError, match="killed"):
        list(run_pool(pieces(*([number] for number in range(50))), team))  # type: ignore[arg-type]
    assert len(team.given) <= 6


def test_errors_are_raised_when_the_others_are_done() -> None:
    done: list[int] = []
    with pytest.raises(UserError, match=r"^2 failed \(1 more failure;"):
        for job in run_pool(pieces([1, 2], [3], [4]), Script(2, {}, {2, 3})):  # type: ignore[arg-type]
            done.append(job)
    assert sorted(done) == [1, 4]


def test_no_more_is_given_out_where_everything_fails() -> None:
    team = Script(1, {}, set(range(20)))
    with pytest.raises(UserError, match="2 more failures"):
        list(run_pool(pieces(*([number] for number in range(20))), team))  # type: ignore[arg-type]
    assert len(team.given) == 3


def test_who_stops_listening_ends_the_workers_at_once() -> None:
    team = Script(1, {})
    running = run_pool(pieces([1, 2], [3]), team)  # type: ignore[arg-type]
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert team.closed == [True]
