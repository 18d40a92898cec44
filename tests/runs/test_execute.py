"""Jobs: named by content, run once, and safe against kills, damage, rivals and full disks."""

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alone import start_telling

from unseen.errors import JobsError, UserError
from unseen.probes.job import Job
from unseen.runs.execute import Executor, OneByOne, execute
from unseen.runs.executors import choose_executor
from unseen.runs.executors.grouped import run_groups
from unseen.runs.executors.here import run_here
from unseen.runs.means import Means
from unseen.runs.results import missing, read_result, result_path

if TYPE_CHECKING:
    from unseen.studies.probed_features import ProbedFeatures


def square_job(number: int) -> Job:
    return Job("square", 1, "a", "b", settings={"number": number})


def number_of(job: Job) -> int:
    return int(job.settings["number"])


def square(job: Job) -> dict[str, Any]:
    return {"value": number_of(job) ** 2}


def fail_at_three(job: Job) -> dict[str, Any]:
    if number_of(job) == 3:
        raise UserError("three is too many")
    return square(job)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [0.5, {"deep": [-float("inf")]}]])
def test_values_that_are_not_finite_are_no_result(tmp_path: Path, value: object) -> None:
    with pytest.raises(UserError, match="(value|deep) is (nan|-?inf)"):
        list(run_here([square_job(1)], tmp_path, lambda _: {"value": value}))
    assert missing([square_job(1)], tmp_path) == [square_job(1)]
    assert list(run_here([square_job(1)], tmp_path, lambda _: {"value": [0.5, None, "inf", 1, True]}))


JOBS = [square_job(number) for number in range(8)]


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_run_once_and_only_what_is_missing(tmp_path: Path, workers: int) -> None:
    first = list(execute(JOBS[:5], tmp_path, OneByOne(square), choose_executor(Means(workers))))
    assert sorted(number_of(job) for job in first) == [0, 1, 2, 3, 4]
    second = list(execute([*JOBS, *JOBS], tmp_path, OneByOne(square), choose_executor(Means(workers))))
    assert sorted(number_of(job) for job in second) == [5, 6, 7]
    assert list(run_here(JOBS, tmp_path, square)) == []
    for job in JOBS:
        result = read_result(tmp_path, job.key)
        assert result is not None
        assert result.values == {"value": number_of(job) ** 2}
        assert result.job["settings"] == {"number": number_of(job)}
        assert "unseen" in result.versions


def test_damaged_and_foreign_results_count_as_missing(tmp_path: Path) -> None:
    list(run_here(JOBS, tmp_path, square))
    result_path(tmp_path, JOBS[0].key).write_text('{"key": ')
    other = result_path(tmp_path, JOBS[1].key).read_text()
    result_path(tmp_path, JOBS[2].key).write_text(other)
    forged = json.loads(result_path(tmp_path, JOBS[3].key).read_text())
    result_path(tmp_path, JOBS[3].key).write_text(json.dumps(forged | {"job": {}, "values": {}}))
    assert missing(JOBS, tmp_path) == [JOBS[0], JOBS[2], JOBS[3]]
    list(run_here(JOBS, tmp_path, square))
    assert missing(JOBS, tmp_path) == []


def kill_itself(job: Job) -> dict[str, Any]:
    """Kills its process at one job always, and at another the first time."""
    once = Path(os.environ["ONCE"])
    if number_of(job) == 2 or (number_of(job) == 5 and not once.exists()):
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(job)


@pytest.mark.parametrize("means", [Means(2), Means(2, devices=("cpu", "cpu"))], ids=["processes", "devices"])
def test_jobs_of_a_killed_worker_are_tried_once_more_and_the_others_done(
    tmp_path: Path, means: Means, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCE", str(tmp_path / "once"))
    with pytest.raises(UserError, match="a worker process was killed"):
        list(execute(JOBS, tmp_path, OneByOne(kill_itself), choose_executor(means)))
    assert missing(JOBS, tmp_path) == [JOBS[2]]


@pytest.mark.parametrize("means", [Means(1), Means(2), Means(gpu=True)], ids=["here", "processes", "grouped"])
def test_an_error_keeps_what_is_done_and_others_are_done_beside_it(tmp_path: Path, means: Means) -> None:
    with pytest.raises(JobsError, match="three is too many") as raised:
        list(execute(JOBS, tmp_path, OneByOne(fail_at_three), choose_executor(means)))
    assert missing(JOBS, tmp_path) == [JOBS[3]]
    assert (raised.value.failures, raised.value.done) == (["square of a on b: three is too many"], 7)


def test_after_three_failures_in_a_row_no_more_is_tried(tmp_path: Path) -> None:
    tried = list[int]()

    def fail(job: Job) -> dict[str, Any]:
        tried.append(number_of(job))
        if number_of(job) != 1:
            raise UserError(f"{number_of(job)} is too many")
        return square(job)

    with pytest.raises(JobsError, match="0 is too many .3 more failures") as raised:
        list(run_here(JOBS, tmp_path, fail))
    assert (tried, raised.value.done) == ([0, 1, 2, 3, 4], 1)
    with pytest.raises(JobsError, match="2 is too many .2 more failures") as raised:
        list(run_here(JOBS[2:], tmp_path, fail))
    assert raised.value.done == 0


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="cannot be written .No space left on device"):
        list(run_here(JOBS, tmp_path, square))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study, and in `whole` its results when nothing disturbs it."""
    import numpy as np

    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((5, 200))
    for name, each in (("train", 20), ("test", 10)):
        y = np.arange(5).repeat(each)
        np.savez(folder / f"{name}.npz", X=centres[y] + 4 * rng.standard_normal((len(y), 200)), y=y)
    run_study(folder, "whole")
    return folder


def features_in(folder: Path) -> "ProbedFeatures":
    from unseen.features.readers import read_features
    from unseen.studies.probed_features import probed_features

    places = {split: folder / f"{split}.npz" for split in ("train", "test")}
    return probed_features("b", "d", {split: read_features(place) for split, place in places.items()}, places)


def run_study(folder: Path, results: str, devices: int = 0, tell: Connection | None = None) -> None:
    """Run what is left of the study, on so many CPUs that stand in for GPUs, and tell of each job that is done."""
    from unseen.probes.by_name.logistic import Logistic
    from unseen.probes.protocol import LogisticProtocol
    from unseen.studies.probing import run

    protocol = LogisticProtocol(name="quick", epochs=6, trials=4, round_size=2, batch=64)
    features = features_in(folder)
    jobs = [*Logistic(protocol).jobs(features, range(6), [1, 2, None])]
    for _ in run(jobs, [features], folder / results, Means(devices=("cpu",) * devices)):
        if tell:
            tell.send("done")


def outcomes(folder: Path) -> dict[str, Any]:
    """Everything in the results but their timings."""
    records = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return {record["key"]: (record["job"], record["values"], record["versions"]) for record in records}


def test_killed_on_devices_it_ends_with_the_same_scores(study: Path) -> None:
    """Neither kills nor the number of devices make a difference; tests/test_whole_folders.py kills everywhere."""
    folder = study / "killed"
    process, told = start_telling(run_study, study, folder.name, 2)
    told.recv()
    os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    assert 0 < len(outcomes(folder)) < 18
    run_study(study, folder.name)
    assert outcomes(folder) == outcomes(study / "whole")
    assert len(outcomes(folder)) == 18


def test_two_runners_share_a_folder(study: Path) -> None:
    rival, told = start_telling(run_study, study, "shared", 0)
    told.recv()
    run_study(study, "shared")
    rival.join(120)
    assert rival.exitcode == 0
    assert outcomes(study / "shared") == outcomes(study / "whole")
    assert not [file for file in (study / "shared").iterdir() if file.suffix != ".json"]


def squares(jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Jobs computed together, the last first."""
    for job in reversed(jobs):
        yield job, square(job)


def test_jobs_run_together_are_written_one_by_one(tmp_path: Path) -> None:
    def together() -> Iterator[Job]:
        return execute(JOBS, tmp_path, squares, run_groups, shared=lambda job: None)

    running = together()
    assert [number_of(next(running)) for _ in range(3)] == [7, 6, 5]
    running.close()
    assert missing(JOBS, tmp_path) == JOBS[:5]
    assert sorted(number_of(job) for job in together()) == [0, 1, 2, 3, 4]
    assert list(together()) == []
    assert read_result(tmp_path, JOBS[4].key).values == {"value": 16}


FOURTH = """
from unseen.runs.execute import Compute
from unseen.runs.means import Means

calls = []

def executor(means: Means):
    def run(groups, compute: Compute, cost):
        for group in reversed(groups):
            calls.append((means, len(group)))
            yield from compute(group)
    return run
"""


def test_a_fourth_executor_is_one_new_file(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import unseen.runs.executors as package
    from unseen.device import on_gpu
    from unseen.probes.by_name.logistic import Logistic
    from unseen.probes.protocol import LogisticProtocol
    from unseen.studies.probing import run

    (tmp_path / "backwards.py").write_text(FOURTH)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setenv("UNSEEN_EXECUTOR", "backwards")
    protocol = LogisticProtocol(name="quick", epochs=1, trials=2, round_size=2, batch=64)
    features = features_in(study)
    jobs = [*Logistic(protocol).jobs(features, range(2), [1, 2])]
    assert len(list(run(jobs, [features], tmp_path / "fourth", Means(2)))) == 4
    assert sys.modules["unseen.runs.executors.backwards"].calls == [(Means(2, gpu=on_gpu()), 4)]  # at one go
    monkeypatch.delenv("UNSEEN_EXECUTOR")
    list(run(jobs, [features], tmp_path / "usual", Means(1)))
    assert outcomes(tmp_path / "fourth") == outcomes(tmp_path / "usual")


def test_an_executor_suits_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(means: Means) -> str:
        found: Executor = choose_executor(means)
        return getattr(found, "__module__", "").rpartition(".")[2]

    assert [chosen(Means()), chosen(Means(2)), chosen(Means(2, gpu=True))] == ["here", "processes", "grouped"]
    assert chosen(Means(gpu=True, devices=("cuda:0", "cuda:1"))) == "devices"
    monkeypatch.setenv("UNSEEN_EXECUTOR", "proceses")
    with pytest.raises(UserError, match="no executor 'proceses'; did you mean processes?"):
        choose_executor(Means())
