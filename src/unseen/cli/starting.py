"""A first line of progress: importing PyTorch and opening data take seconds in which a command would be silent."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer

import typer

SECONDS = 1.0
SLOW = {
    "demo": "Loading PyTorch and the demo's drawings …",
    "probe": "Loading PyTorch and reading features …",
    "extract": "Loading PyTorch and listing images …",
    "run": "Loading PyTorch and preparing the study …",
    "labels": "Loading PyTorch and reading features …",
    "shifts pool": "Loading PyTorch and opening training images …",
    "shifts finetune": "Loading PyTorch and opening training images …",
    "shifts interpolate": "Loading PyTorch and reading checkpoints …",
    "shifts captions": "Reading captions …",
    "ls backbones": "Loading PyTorch …",
    "report": "Reading runs …",
}
"""Command → the line that is printed on standard error if the command is silent for its first second."""
_waiting: list[Timer] = []


@contextmanager
def starting(words: Sequence[str]) -> Iterator[None]:
    """Print the first line of the command that the words name, unless it prints or ends first."""
    line = SLOW.get(" ".join(words[:2])) or SLOW.get(words[0] if words else "")
    if line is not None and "--help" not in words:
        timer = Timer(SECONDS, typer.echo, [line], {"err": True})
        timer.daemon = True
        _waiting.append(timer)
        timer.start()
    try:
        yield
    finally:
        started()


def started() -> None:
    """The command has printed something: the first line is not needed."""
    while _waiting:
        _waiting.pop().cancel()
