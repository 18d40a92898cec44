"""The process in which graphs from files run, with limited memory: `python -P graph_worker.py`.

It reads requests from its standard input and answers on its standard output. A message is a line of JSON, and a graph
follows a request for a session. Images and outputs are in a file in memory that both processes have mapped, so that
they are copied once. Nothing of the package is imported: only NumPy and onnxruntime.
"""

import json
import mmap
import os
import resource
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np


def main() -> None:
    """Answer requests until the other process closes its end."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not be taken for answers
    sessions: list[Any] = []
    while line := requests.readline():
        request = json.loads(line)
        try:
            if "graph" in request:
                graph = requests.read(request["graph"])
                _limit(request["memory"])
                sessions.append(_session(graph, request))
                answer: dict[str, Any] = {"session": len(sessions) - 1, "input": sessions[-1].get_inputs()[0].name}
                del graph
            else:
                _limit(request["memory"])
                answer = {"outputs": _run(sessions[request["session"]], request)}
        except MemoryError:
            answer = {"memory": True}
        except Exception as error:  # onnxruntime's exceptions have no common base class
            text = " ".join(str(error).split())
            answer = {"memory": True} if "alloc" in text.lower() else {"error": text}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _limit(memory: int | None) -> None:
    """Let this process take so many bytes of memory beyond what it had at its beginning; any number for None.

    On a GPU there is no limit, since drivers map more addresses than there is memory.
    """
    if memory is not None:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (START + memory, resource.RLIM_INFINITY))


def _mapped() -> int:
    """Bytes of addresses of this process."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 (nothing else needs paths)
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _session(graph: bytes, request: dict[str, Any]) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = request["threads"]
    options.log_severity_level = 4
    if request["weights"]:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", request["weights"])
    gpu = request["gpu"]
    providers: list[Any] = [] if gpu is None else [("CUDAExecutionProvider", {"device_id": gpu, "use_tf32": 0})]
    return onnxruntime.InferenceSession(graph, options, providers=[*providers, "CPUExecutionProvider"])


@lru_cache(maxsize=1)
def _room(file: int, size: int) -> mmap.mmap:
    """The file of images, mapped again when it has grown."""
    return mmap.mmap(file, size, access=mmap.ACCESS_READ)


def _run(session: Any, request: dict[str, Any]) -> list[tuple[str, tuple[int, ...]]]:
    """Write the outputs for the images of a file in memory into another one; returns their dtypes and shapes."""
    shape, dtype = request["shape"], np.dtype(request["dtype"])
    images = np.frombuffer(_room(request["images"], request["room"]), dtype, int(np.prod(shape))).reshape(shape)
    arrays = [np.ascontiguousarray(each) for each in session.run(request["names"], {request["input"]: images})]
    size = sum(array.nbytes for array in arrays)
    if size > request["most"]:
        raise MemoryError
    os.ftruncate(request["found"], max(size, 1))
    with mmap.mmap(request["found"], max(size, 1)) as room:
        start = 0
        for array in arrays:
            room[start : start + array.nbytes] = array.reshape(-1).view(np.uint8).data
            start += array.nbytes
    return [(array.dtype.str, array.shape) for array in arrays]


if __name__ == "__main__":
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    import onnxruntime

    START = _mapped()
    main()
