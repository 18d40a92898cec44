"""Graphs from files, run in a process of their own: what a file makes onnxruntime do can only end that process.

A few bytes in a graph can ask for any amount of memory. The process may take as much as honest networks need for their
weights and images, and no more than half of that of the machine.
"""

import json
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from threading import RLock
from typing import IO, Any, cast
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from unseen.backbones import graph_worker
from unseen.errors import UserError
from unseen.files import byte_size
from unseen.reading.arrays import memory

MEMORY = "UNSEEN_GRAPH_MEMORY"
"""Environment variable with the gigabytes that a graph may take."""
BASE, OF_WEIGHTS, OF_IMAGES = 4 << 30, 16, 128
"""Bytes that any graph may take, and further ones for each byte of its weights and of its images."""
MOST_FOUND = 1 << 30
"""Bytes of outputs, besides those of images."""


class GraphProcess:
    """A process that runs the sessions of one file; it ends with this object, or with the process that made it.

    Args:
        where: the file, for errors.
        weights: bytes of its weights.
    """

    def __init__(self, where: Path, weights: int) -> None:
        self.where, self.weights = where, weights
        self.lock = RLock()
        self.images, self.found = _memory_file(), _memory_file()
        os.ftruncate(self.images, 1)
        self.room = mmap.mmap(self.images, 1)
        worker = Path(graph_worker.__file__)
        self.process = subprocess.Popen(  # noqa: S603 (our own file)
            [sys.executable, "-P", str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(self.images, self.found),
        )
        finalize(self, _end, self.process, (self.images, self.found))

    def session(self, graph: bytes, *, threads: int, gpu: int | None, folder: Path | None) -> tuple[int, str]:
        """The number of a new session of a graph, and the name of its input.

        Args:
            gpu: its number; the CPU if None.
            folder: where weights are that are not in the graph.
        """
        request = {"graph": len(graph), "threads": threads, "gpu": gpu, "weights": str(folder) if folder else None}
        answer = self._ask(request, 0 if gpu is None else None, "to be opened", graph)
        return answer["session"], answer["input"]

    def run(
        self, session: tuple[int, str], names: Sequence[str], images: NDArray[Any], *, limited: bool
    ) -> list[NDArray[Any]]:
        """Some outputs of a session for images.

        Args:
            limited: whether memory is limited, as it cannot be on a GPU.
        """
        number, name = session
        with self.lock:
            if len(self.room) < images.nbytes:
                os.ftruncate(self.images, images.nbytes)
                self.room = mmap.mmap(self.images, images.nbytes)
            np.copyto(np.frombuffer(self.room, images.dtype, images.size).reshape(images.shape), images)
            request = {
                "session": number, "input": name, "names": list(names), "shape": images.shape,
                "dtype": images.dtype.str, "images": self.images, "room": len(self.room), "found": self.found,
                "most": MOST_FOUND + OF_IMAGES * images.nbytes,
            }  # fmt: skip
            answer = self._ask(request, images.nbytes if limited else None, f"for {len(images)} images")
            return self._arrays(answer["outputs"])

    def _arrays(self, outputs: Sequence[tuple[str, Sequence[int]]]) -> list[NDArray[Any]]:
        """Copies of the outputs in the file in memory."""
        arrays, start = list[NDArray[Any]](), 0
        with mmap.mmap(self.found, 0, access=mmap.ACCESS_READ) as mapped:
            for dtype, shape in outputs:
                count = prod(shape)
                arrays.append(np.frombuffer(mapped, dtype, count, start).reshape(shape).copy())
                start += count * np.dtype(dtype).itemsize
        return arrays

    def _ask(self, request: Mapping[str, Any], images: int | None, what: str, graph: bytes = b"") -> dict[str, Any]:
        """The answer to a request.

        Args:
            images: bytes of the images; None for no limit of memory.
            what: what it is for, in an error.
        """
        limit = None if images is None else self._limit(images)
        answer: dict[str, Any] = {}
        with self.lock, suppress(BrokenPipeError, ValueError):
            stdin, stdout = cast("IO[bytes]", self.process.stdin), cast("IO[bytes]", self.process.stdout)
            stdin.write(json.dumps({**request, "memory": limit}).encode() + b"\n")
            stdin.write(graph)
            stdin.flush()
            answer = json.loads(stdout.readline())
        if "error" in answer:
            raise UserError(f"{self.where}: onnxruntime cannot run it ({answer['error'][:200]})")
        if not answer or "memory" in answer:
            took = f"more than {byte_size(limit)} of memory" if limit else "more memory than there is"
            ended = "" if answer else f", or it ends onnxruntime (exit code {self.process.wait()})"
            raise UserError(
                f"{self.where}: takes {took} {what}{ended}; use smaller batches, or allow more gigabytes with the "
                f"environment variable {MEMORY}"
            )
        return answer

    def _limit(self, images: int) -> int:
        """The bytes that the process may take."""
        given = os.environ.get(MEMORY)
        try:
            wanted = float(given) * 1e9 if given else BASE + OF_WEIGHTS * self.weights + OF_IMAGES * images
            return int(wanted) if given else int(min(wanted, memory() // 2))
        except (ValueError, OverflowError):
            raise UserError(f"{MEMORY} must be a number of gigabytes, not '{given}'") from None


def _memory_file() -> int:
    """The descriptor of a file without a name, in memory where there are such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("unseen-graph")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _end(process: "subprocess.Popen[bytes]", files: Sequence[int]) -> None:
    for file in files:
        os.close(file)
    process.kill()
    process.communicate()
