"""Work in a process of its own, to be killed."""

import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess


@cache
def context() -> BaseContext:
    """A copy of this process need not load PyTorch, which takes seconds; but it cannot use a GPU."""
    import torch

    copies = sys.platform == "linux" and not torch.cuda.is_available()
    return get_context("fork" if copies else "spawn")


def start_alone(work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Start `work` and come back at once. It prints nowhere, and leads a group of processes."""
    process = context().Process(target=_quietly, args=(work, arguments))  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about copies beside threads
        process.start()
    return process  # type: ignore[no-any-return]


def start_telling(work: Callable[..., object], *arguments: object) -> tuple[BaseProcess, Connection]:
    """The same for work that has one more argument, a connection to send by; the other end of it is returned."""
    reader, writer = context().Pipe(duplex=False)
    process = start_alone(work, *arguments, writer)
    writer.close()
    return process, reader


def start_command(*words: object) -> BaseProcess:
    """Start `unseen` with these words."""
    return start_alone(command, *words)


def command(*words: object) -> None:
    """Run `unseen` in this process."""
    from unseen.cli.main import run

    sys.argv = ["unseen", *map(str, words)]
    run()


def _quietly(work: Callable[..., object], arguments: tuple[object, ...]) -> None:
    import torch

    os.setsid()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    sys.stdout = sys.stderr = os.fdopen(nowhere, "w")
    torch.set_num_threads(1)  # a copy has none of the others
    work(*arguments)
