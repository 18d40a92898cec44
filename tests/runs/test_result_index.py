"""The index of many results: the same results with and without it, whatever happens to the files or to the index."""

import os
from pathlib import Path
from typing import Any

import pytest

from unseen.files import remove_unfinished
from unseen.probes.job import Fit, Job, fits_kept
from unseen.runs import result_index
from unseen.runs.result_index import index_path, listed, read_index
from unseen.runs.results import RESULTS, missing, read_all, read_result, remove_result, result_path, write_result

LONG_AGO = 1_600_000_000_000_000_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index from two results on, also of files that were just written."""
    monkeypatch.setattr(result_index, "FEWEST", 2)
    monkeypatch.setattr(result_index, "SETTLED", -(1 << 62))


def jobs(many: int) -> list[Job]:
    return [Job("knn", 1, "net", "task", shots=number + 1) for number in range(many)]


def written(folder: Path, job: Job, value: float = 0.5) -> None:
    write_result(folder, job, fits_kept([Fit("knn", job.shots, 0, [("top1", value)])]), 1.5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    results = tmp_path / RESULTS
    for number, job in enumerate(jobs(8)):
        written(results, job, number / 8)
    read_all(results, [job.key for job in jobs(8)])
    assert len(read_index(results, listed(results))) == 8
    return results


def as_in_files(folder: Path, many: int = 8) -> None:
    """What is read is what each file says, in the order of the jobs; what has no sound file is missing."""
    every = jobs(many)
    direct = [result for job in every if (result := read_result(folder, job.key))]
    assert read_all(folder, [job.key for job in every]) == direct
    assert missing(every, folder) == [job for job in every if read_result(folder, job.key) is None]


def test_results_of_the_index_are_those_of_the_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_in_files(folder)
    read = list[str]()
    monkeypatch.setattr("unseen.runs.results.read_result", lambda folder, key: read.append(key))
    assert len(read_all(folder, [job.key for job in jobs(8)])) == 8
    assert missing(jobs(8), folder) == []
    assert read == []


def test_replaced_removed_and_new_results(folder: Path) -> None:
    written(folder, jobs(1)[0], 0.875)
    remove_result(folder, jobs(8)[3].key)
    written(folder, jobs(9)[8])
    as_in_files(folder, 10)
    assert [job.shots for job in missing(jobs(10), folder)] == [4, 10]


def test_a_file_changed_in_place_to_the_same_size_with_the_old_time(folder: Path) -> None:
    path = result_path(folder, jobs(1)[0].key)
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"top1": 0.0', b'"top1": 0.9'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    as_in_files(folder)
    assert read_all(folder, [job.key for job in jobs(8)])[0].fits[0].values == [("top1", 0.9)]


def test_a_damaged_file_counts_as_missing_although_it_was_entered(folder: Path) -> None:
    result_path(folder, jobs(1)[0].key).write_bytes(b"{")
    as_in_files(folder)
    assert missing(jobs(8), folder) == jobs(1)


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "digit", "version", "noise", "folder"])
def test_an_index_that_is_damaged_or_of_another_version_changes_nothing(folder: Path, damage: str) -> None:
    path = index_path(folder)
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "gone":
        path.write_bytes({
            "empty": b"", "cut": content[:-20], "digit": content.replace(b'"top1": 0.5', b'"top1": 0.6'),
            "version": content.replace(b"index 1 ", b"index 0 "), "noise": bytes(range(256)) * 9,
        }[damage])  # fmt: skip
    as_in_files(folder)
    assert damage == "folder" or len(read_index(folder, listed(folder))) == 8  # it was written again


def test_an_index_of_a_copied_folder_is_not_used(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "copy" / RESULTS
    for job in jobs(8):
        written(other, job, 0.25)
        os.utime(result_path(other, job.key), ns=(LONG_AGO, LONG_AGO))
    index_path(other).write_bytes(index_path(folder).read_bytes())
    assert read_index(other, listed(other)) == {}
    as_in_files(other)


def test_files_that_were_just_written_are_not_entered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_index, "SETTLED", 2_000_000_000)
    index_path(folder).unlink()
    as_in_files(folder)
    assert read_index(folder, listed(folder)) == {}


def test_a_kill_while_the_index_is_written_leaves_the_one_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = index_path(folder).read_bytes()
    for job in jobs(20)[8:]:
        written(folder, job)

    def killed(self: Path, target: Any) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            read_all(folder, [job.key for job in jobs(20)])
    assert index_path(folder).read_bytes() == before
    as_in_files(folder, 20)
    remove_unfinished(folder.parent)
    assert sorted(path.name for path in folder.parent.iterdir()) == [RESULTS, "results.index"]


def test_a_result_that_is_replaced_while_the_index_is_made_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes after the folder was listed: the entry is of the listed file, which is gone."""
    index_path(folder).unlink()
    files = listed(folder)
    written(folder, jobs(1)[0], 0.75)
    stale = {job.key: vars(read_result(folder, job.key)) for job in jobs(8)}
    stale[jobs(1)[0].key]["seconds"] = 99.0
    result_index.write_index(folder, files, {}, stale)
    as_in_files(folder)


def test_a_folder_that_cannot_be_written_to_has_no_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index_path(folder).unlink()
    monkeypatch.setattr("unseen.files.NamedTemporaryFile", _refused)
    as_in_files(folder)
    assert not index_path(folder).exists()


def _refused(**options: Any) -> Any:
    raise PermissionError(13, "read-only")
