"""Whatever happens to commands, their folder is whole: killed at file operations and run again, or several at a time.

The usual run kills every command once and the long suite several times; hundreds of kills are for
`benchmarks/crash_points.py`, from which these are.
"""

import csv
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError

import pytest
from alone import command, context, start_alone

from crash_points import Command, commands, operations, strike
from unseen.probes.many_shot import PROTOCOLS
from unseen.runs.record import read_run
from unseen.studies.shifts.predictions import LABELS, read_predictions

pytestmark = [
    pytest.mark.early,
    pytest.mark.skipif(sys.platform != "linux", reason="copies of this process, and the paths of its files"),
]
KILLS = {"probe": 4, "extract": 8, "shifts": 4, "tasks": 4}
MOMENT = 0.3
SHARED = ("run.json", "study.toml", "scores.csv", "report.html", "accuracies.csv", "columns.csv", "cifar-10.2.npz")
"""Files that several commands change."""
CODE = """
import torch
from torch import nn
from unseen.data.core.decoding.transform import Transform

def first(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        body = (nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten())
        return nn.Sequential(*body), Transform(size=8, resize=8)

def second():
    return first(1)
"""
Places = tuple[Path, dict[str, Command]]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    folder = tmp_path_factory.mktemp("crash").resolve()
    (folder / "nets.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROTOCOLS, "ericsson-2021", PROTOCOLS["ericsson-2021"])
        yield folder, {each.name: each for each in commands(folder)}


@pytest.mark.parametrize(
    ("name", "kills"),
    [(name, 1) for name in KILLS] + [pytest.param(*each, marks=pytest.mark.long_suite) for each in KILLS.items()],
)
def test_killed_at_any_file_operation_it_ends_with_the_same_files(
    places: Places, tmp_path: Path, name: str, kills: int
) -> None:
    _, found = places
    done = operations(found[name], tmp_path / "whole")
    assert {"open", "fcntl.flock", "fsync", "os.chmod", "os.rename", "os.mkdir"} <= {each.split()[0] for each in done}
    for place in range(kills):
        number = (2 * place + 1) * len(done) // (2 * kills)
        struck = strike(found[name], tmp_path / "whole", tmp_path / str(place), number)
        assert (len(struck.operations), struck.lost, struck.left) == (1, [], []), struck.operations


def test_what_is_lost_or_left_is_found(places: Places) -> None:
    """The harness itself: a run that lacks a file, and one that has another."""
    folder, found = places
    done = operations(found["extract"], folder / "whole")
    (folder / "whole" / "more.txt").write_text("")
    (folder / "struck").mkdir()
    (folder / "struck" / ".X-00000.npy.unknown").write_text("")
    struck = strike(found["extract"], folder / "whole", folder / "struck", len(done) - 1)
    assert (struck.lost, struck.left) == (["more.txt"], [".X-00000.npy.unknown"])


def meeting(meetings: Mapping[str, Barrier], *words: object) -> None:
    """Run a command that waits before a file is in its place, until all others are as far with it or a moment is over.

    With locks nobody else comes so far. Without, all have read what was there before, and write.
    """
    synchronise = os.fsync

    def meet(file: int) -> None:
        written = Path(f"/proc/self/fd/{file}").readlink().name
        with suppress(BrokenBarrierError):
            [meetings[name].wait(MOMENT) for name in SHARED if name in written]
        synchronise(file)

    os.fsync = meet
    command(*words)


def together(*several: tuple[object, ...]) -> None:
    """Run commands at the same time."""
    meetings = {name: context().Barrier(len(several)) for name in SHARED}
    processes = [start_alone(meeting, meetings, *words) for words in several]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(several)


def test_three_models_of_shifts(places: Places, tmp_path: Path) -> None:
    _, found = places
    names = {f"timm:test_{name}" for name in ("vit", "vit2", "vit3")}
    words = [*found["shifts"].words, "--out", tmp_path]
    words.remove("timm:test_vit")
    words.remove("--backbone")
    together(*((*words, "--backbone", name) for name in names))
    assert {each.name for each in read_run(tmp_path).backbones} == names
    with (tmp_path / "accuracies.csv").open() as table:
        assert {row["model"] for row in csv.DictReader(table)} == names
    [predictions] = (tmp_path / "predictions").iterdir()
    assert {*read_predictions(predictions)} == {LABELS, *names}


def test_two_backbones_of_tasks(places: Places, tmp_path: Path) -> None:
    folder, _ = places
    words = ("run", "ericsson-2021", "--datasets", "digits", "--limit", 6, "--workers", 1, "--out", tmp_path)
    together(*((*words, "--backbone", f"{folder / 'nets.py'}:{name}") for name in ("first", "second")))
    _is_on_page(tmp_path, "first", "second")
    assert len({score.backbone for score in read_run(tmp_path).scores}) == 2


def test_two_fine_tunings(places: Places, tmp_path: Path) -> None:
    folder, _ = places
    short = ("--set", "fine-tuned.trials=1", "--set", "fine-tuned.steps=2")
    words = ("run", "finetune", "--datasets", "digits", *short, "--workers", 1, "--out", tmp_path)
    together(*((*words, "--backbone", f"{folder / 'nets.py'}:{name}") for name in ("first", "second")))
    _is_on_page(tmp_path, "first", "second")
    assert len({score.backbone for score in read_run(tmp_path).scores}) == 2
    assert not [*tmp_path.glob("pixels/*")]


def test_levels_beside_each_other(places: Places, tmp_path: Path) -> None:
    _, found = places
    words = (*found["concepts"].words, "--out", tmp_path)
    together(*(_with(words, "--datasets", level) for level in ("l1", "l2")))
    data = read_run(tmp_path)
    assert ({each.name for each in data.domains}, {each.domain for each in data.scores}) == ({"l1", "l2"}, {"l1", "l2"})
    _is_on_page(tmp_path, "concept n012", "concept n022")


def test_other_seeds_and_shots_of_a_probe(places: Places, tmp_path: Path) -> None:
    _, found = places
    words = (*found["probe"].words, "--out", tmp_path)
    together(*(_with(words, option, value) for option, value in (("--seeds", 3), ("--shots", 4))))
    assert {(each.shots, each.seed) for each in read_run(tmp_path).scores} == {(2, 0), (2, 1), (2, 2), (4, 0), (4, 1)}


def _with(words: tuple[object, ...], option: str, value: object) -> tuple[object, ...]:
    """The words of a command with another value of an option, which may be given once."""
    place = words.index(option) + 1
    return (*words[:place], value, *words[place + 1 :])


def _is_on_page(run: Path, *names: str) -> None:
    page = (run / "report.html").read_text()
    assert all(name in page for name in names)
