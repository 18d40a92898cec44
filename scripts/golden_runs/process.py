"""A command in a process of its own, which can be killed at a result.

The process is a copy (fork) of this one, which has imported PyTorch already: an import takes seconds, and there are
more than a hundred commands.
"""

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ALONE = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "COLUMNS": "200",
    "NO_COLOR": "1",
}
"""Environment of all commands: one thread, since the order of sums depends on their number, and no GPU."""
UNSET = ("UNSEEN_EXECUTOR", "UNSEEN_LPIPS_WEIGHTS")
KILLED = -signal.SIGKILL
LONGEST = 900.0
"""Seconds that a command may take."""


@dataclass(frozen=True)
class Answer:
    """Exit code of a command (minus the number of a signal that ended it), what it printed, and its processor time."""

    code: int
    out: str
    err: str
    seconds: float


def call(
    work: Callable[[Sequence[str]], None],
    words: Sequence[str],
    folder: Path,
    *,
    kill_at: int = 0,
    watched: bool = False,
) -> Answer:
    """Run `work(words)` in a new process whose working directory is `folder`.

    Args:
        kill_at: kill the process and its children as it is about to store result number `kill_at`, counted from 1;
            0 lets it finish.
        watched: kill it soon after the result before that, or after its only one, because processes that it starts
            store its results. It may finish first.
    """
    paths = [folder.parent / f".{folder.name}.{name}" for name in ("out", "err")]
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about copies beside threads
        process = os.fork()
    if process == 0:
        _child(work, words, folder, paths, 0 if watched else kill_at)
    kill_with = stored_results(folder) + max(kill_at - 1, 1) if kill_at and watched else None
    status, seconds = _wait(process, folder, kill_with)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # decoders and workers that outlived it
    out, err = (path.read_text() for path in paths)
    for path in paths:
        path.unlink()
    return Answer(os.waitstatus_to_exitcode(status), out, err, seconds)


def stored_results(folder: Path) -> int:
    """Number of results of all runs in a working directory."""
    return len([*folder.glob("*/results/*.json")])


def _wait(process: int, folder: Path, kill_with: int | None) -> tuple[int, float]:
    """Exit status and processor time of a process; it is killed when so many results are stored."""
    start = time.monotonic()
    while time.monotonic() - start < LONGEST and (kill_with is None or stored_results(folder) < kill_with):
        ended, status, used = os.wait4(process, os.WNOHANG)
        if ended:
            return status, used.ru_utime + used.ru_stime
        time.sleep(0.005)
    os.killpg(process, signal.SIGKILL)
    _, status, used = os.wait4(process, 0)
    return status, used.ru_utime + used.ru_stime


def _child(
    work: Callable[[Sequence[str]], None], words: Sequence[str], folder: Path, paths: Sequence[Path], kill_at: int
) -> None:
    """Never returns: what is above in the stack belongs to the parent."""
    code = 1
    try:
        os.setsid()
        for stream, path in zip((1, 2), paths, strict=True):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
        os.chdir(folder)
        if kill_at:
            _kill_at_result(kill_at)
        work(words)
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _kill_at_result(number: int) -> None:
    """Kill this process as it is about to give a result its final name, in a folder `results`."""
    stored = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal stored
        if event == "os.rename" and Path(str(arguments[1])).parent.name == "results":
            stored += 1
            if stored == number:
                os.killpg(0, signal.SIGKILL)

    sys.addaudithook(hook)
