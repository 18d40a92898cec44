"""Kill commands at their file operations, run them again, and count what was lost and what was left behind.

    PYTHONPATH=benchmarks python benchmarks/crash_points.py --kills 400

Each command runs in a copy of this process and ends by SIGKILL before an operation that changes a file or folder of
its run (creating, locking, synchronising, renaming or removing a file, creating a folder). A file that was not
synchronised yet is first cut in half, as it may be after a crash. The same command then runs to its end, and its
folder is compared with that of an undisturbed run:

- lost: a score, a row or any other content that differs, and finished work that was repeated;
- left: a file or folder that the undisturbed run does not have, or a process that did not end.
"""

import argparse
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

CODE = """
from torch import nn
from unseen.data.core.decoding.transform import Transform

def pixels():
    return nn.Sequential(nn.AvgPool2d((4, 2)), nn.Flatten()), Transform(size=8, resize=8)
"""
EVENTS = {"os.rename": 2, "os.remove": 1, "os.mkdir": 1, "os.rmdir": 1, "os.chmod": 1, "os.utime": 1, "os.truncate": 1}
"""Operations on files, as Python's audit names them, and how many of their arguments are paths."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
VOLATILE = {"seconds", "speed", "written"}
"""Keys of JSON files that differ from run to run: what a job or a forward pass took, and when a run was written."""


@dataclass(frozen=True)
class Command:
    """Words of `unseen`, to which `--out` with a folder is added."""

    name: str
    words: tuple[object, ...]


@dataclass(frozen=True)
class Struck:
    """The outcome of a command that was killed before some operations and run again each time."""

    command: str
    operations: Sequence[str]
    lost: Sequence[str]
    left: Sequence[str]


def commands(folder: Path) -> list[Command]:
    """Commands of a few tenths of a second each, on data that are written into a folder."""
    import numpy as np
    from PIL import Image

    from unseen.probes.many_shot import ERICSSON_2021, PROTOCOLS

    PROTOCOLS["ericsson-2021"] = replace(ERICSSON_2021, steps=3)  # ℓ2 constants; all of them take seconds
    rng = np.random.default_rng(0)
    (folder / "own.py").write_text(CODE)
    centres = rng.standard_normal((4, 6))
    for name, each in (("train", 12), ("test", 6)):
        y = np.arange(4).repeat(each)
        np.savez(folder / f"{name}.npz", X=centres[y] + rng.standard_normal((len(y), 6)), y=y)
    for number in range(8):
        place = folder / "images" / f"class{number % 2}" / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(place)
    lines = ["level,rank,wnid,name"]
    for number in (1, 2):
        (folder / f"features/l{number}").mkdir(parents=True)
        names = np.array([f"n0{number}{each}" for each in range(3)])
        lines += [f"{number},{10 * number + each},{name},concept {name}" for each, name in enumerate(names)]
        for split in ("train", "test"):
            y = np.arange(30) % 3
            X = np.eye(3)[y] + 0.1 * rng.random((30, 3))
            np.savez(folder / f"features/l{number}/{split}.npz", X=X, y=names[y])
    (folder / "levels.csv").write_text("\n".join(lines))
    (folder / "cifar-10.2").mkdir()
    pixels = rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    np.savez(folder / "cifar-10.2/cifar102_test.npz", images=pixels, labels=np.arange(20) % 10)
    short, net = ("--set", "logistic.protocol=cog-v2-short"), f"{folder / 'own.py'}:pixels"
    return [
        Command("probe", ("probe", folder / "train.npz", folder / "test.npz", *short, "--seeds", 2, "--shots", "2",
                          "--workers", 1)),
        Command("extract", ("extract", "--backbone", net, "--datasets", folder / "images", "--workers", 0)),
        Command("concepts", ("run", "cog-v2", "--features", folder / "features", "--backbone", "mine",
                             "--set", f"levels={folder / 'levels.csv'}", *short, "--shots", 2, "--seeds", 1,
                             "--datasets", "l1,l2", "--workers", 1)),
        Command("shifts", ("run", "shifts", "--data", folder, "--backbone", "timm:test_vit",
                           "--set", "backbone.weights=random", "--set", "backbone.outputs=cifar-10",
                           "--set", "complete=false", "--workers", 0)),
        Command("tasks", ("run", "ericsson-2021", "--backbone", net, "--datasets", "digits", "--limit", 8,
                          "--workers", 1)),
    ]  # fmt: skip


def operations(command: Command, out: Path) -> list[str]:
    """Run a command that nobody kills: its operations on files, each as a name and a file."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        code = _call([*command.words, "--out", out])  # here, so that copies of this process find all that it loads
    if code:
        raise RuntimeError(f"{command.name} ended with code {code}: {said.getvalue()}")
    shutil.rmtree(out)
    return _run(command, out)[1]


def strike(command: Command, whole: Path, out: Path, *numbers: int) -> Struck:
    """Kill a command before one of its operations, run it again, and compare its folder with that of a whole run.

    Args:
        numbers: of the operations; with several, the command is killed again when it runs again, if it comes so far.
    """
    finished, came_to, lost = dict[str, int](), list[str](), list[str]()
    for number in (*numbers, None):
        code, done = _run(command, out, number)
        lost += [f"{path} was made again" for path, when in finished.items() if _finished(out).get(path) != when]
        finished = _finished(out)
        if code == 0:
            break
        came_to += done[-1:]
        if number is None or code != -signal.SIGKILL:
            lost.append(f"it ended with code {code}")
    expected, found = contents(whole), contents(out)
    lost += [path for path, content in expected.items() if found.get(path, ...) != content]
    return Struck(command.name, came_to, lost, sorted(set(found) - set(expected)))


def contents(folder: Path) -> dict[str, Any]:
    """The files and folders in a folder, and the content of the files, without times."""
    return {str(path.relative_to(folder)): _content(path, folder) for path in sorted(folder.rglob("*"))}


def _content(path: Path, folder: Path) -> Any:
    if path.is_dir():
        return None
    content = path.read_bytes().replace(str(folder).encode(), b"FOLDER")
    if path.suffix == ".json":
        return _lasting(json.loads(content))
    return None if path.suffix == ".html" else content


def _lasting(record: Any) -> Any:
    """A record of JSON without its volatile keys, at any depth."""
    if isinstance(record, dict):
        return {key: _lasting(value) for key, value in record.items() if key not in VOLATILE}
    return [_lasting(each) for each in record] if isinstance(record, list) else record


def _finished(folder: Path) -> dict[str, int]:
    """Results and shards, each by the time when it was written."""
    found = [*folder.rglob("results/*.json"), *folder.rglob("X-*.json")]
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in found}


def _run(command: Command, out: Path, stop: int | None = None) -> tuple[int, list[str]]:
    """Run a command in a copy of this process; its exit code, or minus the signal, and the operations it reached.

    Args:
        stop: the number of the operation before which it is killed.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about copies beside threads
        child = os.fork()
    if not child:
        os.close(reader)
        _quietly([*command.words, "--out", out], _Watched(out, writer, stop))
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as told:
        done = told.read().splitlines()  # until the child and all processes that it started have ended
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), done


class _Watched:
    """Writes the operations of this process on a folder into a pipe, and ends it before one of them."""

    def __init__(self, folder: Path, pipe: int, stop: int | None) -> None:
        self._folder, self._pipe, self._stop = f"{folder}", pipe, stop
        self._count, self._process, self._synchronise = 0, os.getpid(), os.fsync
        os.fsync = self.fsync  # type: ignore[assignment]
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS:
            self._note(event, arguments[: EVENTS[event]])
        elif event == "open" and arguments[2] & WRITING:
            self._note(event, arguments[:1])
        elif event == "fcntl.flock":
            self._note(event, [_path(arguments[0])])

    def fsync(self, file: int) -> None:
        self._note("fsync", [_path(file)], lambda: os.truncate(file, os.fstat(file).st_size // 2))
        self._synchronise(file)

    def _note(self, event: str, paths: Sequence[Any], at_the_end: Callable[[], None] = lambda: None) -> None:
        known = [os.fsdecode(path) for path in paths if not isinstance(path, int)]
        if os.getpid() != self._process or not any(path.startswith(self._folder) for path in known):
            return
        os.write(self._pipe, f"{event} {Path(known[-1]).name}\n".encode())
        if self._count == self._stop:
            self._stop = None
            at_the_end()
            os.kill(self._process, signal.SIGKILL)
        self._count += 1


def _path(file: int) -> str:
    return str(Path(f"/proc/self/fd/{file}").readlink())


def _quietly(words: Sequence[object], _: _Watched) -> None:
    """Run `unseen` with these words and end this process."""
    import torch

    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.stdout = sys.stderr = os.fdopen(nowhere, "w")
        torch.set_num_threads(1)  # a copy has none of the others
        code = _call(words)
    finally:
        os._exit(code)


def _call(words: Sequence[object]) -> int:
    """Run `unseen` with these words in this process; its exit code."""
    from unseen.cli.main import run

    before, sys.argv = sys.argv, ["unseen", *map(str, words)]
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=400, help="number of kills, at random operations")
    parser.add_argument("--seed", type=int, default=0)
    arguments, began = parser.parse_args(), time.monotonic()
    rng, struck = random.Random(arguments.seed), list[Struck]()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a copy of a process cannot use its GPU
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        found = {each: len(operations(each, folder / each.name)) for each in commands(folder)}
        print(f"{'command':<10}{'operations':>12}{'kills':>8}{'lost':>8}{'left':>8}")
        while sum(len(each.operations) for each in struck) < arguments.kills:
            command = rng.choice([*found])
            numbers = [rng.randrange(found[command]) for _ in range(rng.choice((1, 1, 2)))]
            out = folder / f"{command.name}-{len(struck)}"
            struck.append(strike(command, folder / command.name, out, *numbers))
            shutil.rmtree(out)
            for what in (*struck[-1].lost, *struck[-1].left):
                print(f"{command.name}, before {' and '.join(struck[-1].operations)}: {what}", flush=True)
    for command, count in found.items():
        own = [each for each in struck if each.command == command.name]
        kills, lost, left = (sum(len(getattr(each, what)) for each in own) for what in ("operations", "lost", "left"))
        print(f"{command.name:<10}{count:>12}{kills:>8}{lost:>8}{left:>8}")
    print(f"{len(struck)} runs in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
