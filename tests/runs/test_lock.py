"""Several processes that change the files of one folder lose nothing."""

import errno
import fcntl
import os
import signal
import socket
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from alone import context, start_alone, start_telling

from unseen.errors import UserError
from unseen.files import atomic_write, remove_unfinished
from unseen.probes.by_name.classifier import Classifier, Outputs
from unseen.probes.job import Job, fits_kept
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.lock import LOCK, PATIENCE, UnlockedWarning, folder_lock, shared_use
from unseen.runs.record import extend_run, read_run
from unseen.runs.results import RESULTS, write_result
from unseen.runs.setup import FeatureKey, ProtocolUsed
from unseen.studies.shifts.evaluate import OUTPUTS, write_tables
from unseen.studies.shifts.predictions import LABELS, add_predictions, read_predictions
from unseen.studies.watch import Silent

ROUNDS = 4
TRUTH, GUESS = np.array([0, 1, 1], dtype=np.int32), np.array([0, 1, 0], dtype=np.int32)


def shift_job(name: str) -> Job:
    reads = {"classifier": name, "outputs": "logits", "classes": "classes"}
    return Classifier().column_job(name, "val", reads, {"protocol": "shi-2023", "test_set": "val", "on_error": "fail"})


def part(name: str) -> RunData:
    return RunData(
        title="t",
        scores=(),
        domains=[Domain("val", "val", axis="shifts"), Domain(f"domain of {name}", name, axis="shifts")],
        backbones=[Backbone(name, "yours")],
        baseline=name,
        remarks={f"backbone {name}": name},
        features=[FeatureKey(name, "val", {OUTPUTS: shift_job(name).key})],
    )


def add_parts(folder: Path, process: int, barrier: Barrier) -> None:
    """What one process of two adds to a run and to a table of shifts."""
    barrier.wait()
    for number in range(ROUNDS):
        name = f"{process}-{number}"
        extend_run(folder, part(name), [shift_job(name)])
        more = replace(part(name), protocols=[ProtocolUsed(name, name)])
        extend_run(folder, more, [replace(shift_job(name), seed=1)])
        add_predictions(folder / "predictions", name, {"val": (TRUTH, TRUTH)})
        tested = Outputs(GUESS, TRUTH, {"test_set": "val", "classes": 2, "damaged": 0, "of": 3})
        [fit] = Classifier().fit(tested, [shift_job(name).setting])
        write_result(folder / RESULTS, shift_job(name), fits_kept([fit]), 0.1)
        write_tables(folder, Silent(), name)


def test_two_processes_that_extend_one_folder_lose_nothing(tmp_path: Path) -> None:
    barrier = context().Barrier(2)
    other = start_alone(add_parts, tmp_path, 1, barrier)
    add_parts(tmp_path, 0, barrier)
    other.join()
    assert other.exitcode == 0

    names = {f"{process}-{number}" for process in range(2) for number in range(ROUNDS)}
    data = read_run(tmp_path)
    assert {backbone.name for backbone in data.backbones} == names
    assert {domain.title for domain in data.domains} == names | {"val"}
    assert {score.backbone for score in data.scores} == names
    assert set(data.remarks.values()) == {each.probe for each in data.protocols} == names
    assert f"{len(names)} of {2 * len(names)} jobs" in data.notice
    assert set(read_predictions(tmp_path / "predictions" / "val.npz")) == {LABELS, *names}
    rows = (tmp_path / "accuracies.csv").read_text().splitlines()[1:]
    assert {row.partition(",")[0] for row in rows} == names


def test_who_holds_a_lock_may_take_it_again_and_gives_it_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), folder_lock(tmp_path), folder_lock(tmp_path):
        _ = 1 / 0
    with folder_lock(tmp_path):
        pass


def use_until_told(file: Path, tell: Connection) -> None:
    with shared_use(file):
        tell.send("uses")
        signal.pause()


def test_what_others_use_is_not_removed_and_a_killed_user_counts_no_more(tmp_path: Path) -> None:
    other, told = start_telling(use_until_told, tmp_path / ".pixels-dtd.lock")
    told.recv()
    with shared_use(tmp_path / ".pixels-dtd.lock") as alone:
        assert not alone()
    other.kill()
    other.join()
    with shared_use(tmp_path / ".pixels-dtd.lock") as alone:
        assert alone()


def test_without_file_locks_the_work_is_done_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.warns(UnlockedWarning, match="one command at a time"):
        extend_run(tmp_path, part("a"), [shift_job("a")])
    assert read_run(tmp_path).backbones[0].name == "a"


def test_locks_are_those_that_nfs_can_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There a lock that is shared needs a file that is open to read, and one that is not, a file open to write."""

    def as_on_nfs(file: IO[bytes], operation: int) -> None:
        access = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE
        if access == (os.O_WRONLY if operation & fcntl.LOCK_SH else os.O_RDONLY):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("fcntl.flock", as_on_nfs)
    (tmp_path / ".a.json.x.unfinished").write_text("")
    remove_unfinished(tmp_path)
    assert not [*tmp_path.iterdir()]
    with folder_lock(tmp_path), atomic_write(tmp_path / "a.json") as file:
        file.write(b"{}")
    with shared_use(tmp_path / ".pixels.lock") as alone:
        assert alone()


def hold(folder: Path, tell: Connection) -> None:
    """Hold a lock and write a file without end."""
    with folder_lock(folder), atomic_write(folder / "run.json") as file:
        tell.send(file.name)
        signal.pause()


@pytest.mark.parametrize("hours", [-1, 1])
def test_clocks_that_differ_by_an_hour_end_no_lock(tmp_path: Path, hours: int) -> None:
    holder, told = start_telling(hold, tmp_path)
    when = time.time() + 3600 * hours
    for path in (tmp_path / LOCK, unfinished := Path(told.recv())):
        os.utime(path, (when, when))
    remove_unfinished(tmp_path)
    with (tmp_path / LOCK).open("a+b") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert unfinished.exists()
    holder.kill()
    holder.join()
    os.utime(unfinished, (when, when))
    with folder_lock(tmp_path):  # at once
        remove_unfinished(tmp_path)
    assert not unfinished.exists()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written to"), folder_lock(tmp_path / "file" / "run"):
        pass


def hold_until_told(folder: Path, telling: Connection) -> None:
    with folder_lock(folder):
        telling.send(os.getpid())
        telling.recv()


def test_who_waits_says_for_whom_and_since_when(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with folder_lock(tmp_path):
        pass
    assert (tmp_path / LOCK).read_bytes() == b""
    there, here = context().Pipe()
    other = start_alone(hold_until_told, tmp_path, there)
    process = here.recv()
    started = time.monotonic()
    release = threading.Timer(4.0, here.send, (None,))
    release.start()
    with folder_lock(tmp_path):
        waited = time.monotonic() - started
    other.join()
    [told] = [each for each in caplog.records if each.name == "unseen"]
    assert f"process {process} on {socket.gethostname()} since 20" in told.getMessage()
    assert "\n" not in told.getMessage()
    assert PATIENCE < 5 < waited + 2
