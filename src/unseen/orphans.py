"""Worker processes end with the process that started them, however that ends."""

import os
import threading
from multiprocessing import parent_process


def end_with_parent(_: object = None) -> None:
    """Called in a `multiprocessing` worker: it exits as soon as its parent is gone, whatever it is doing.

    Workers forked later also hold this worker's end of the parent's pipe, so workers exit in reverse order of their
    start.
    """
    threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
