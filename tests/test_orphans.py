"""Workers of all kinds end within seconds of their parent's death, whatever ends it and whatever they are doing."""

import os
import select
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alone import start_alone

from unseen.data.captions.files import Batch
from unseen.data.captions.labelling import _tallies
from unseen.data.captions.rule import CaptionRule
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import Entry
from unseen.features.batches import Decoder, Piece, decoded, geometry
from unseen.probes.job import Job
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import choose_executor
from unseen.runs.means import Means

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells of the end of another's child")
SECONDS = 10


@dataclass(frozen=True)
class Endless:
    """Work of any kind that says which process does it, and never ends."""

    fifo: Path
    entries: Sequence[Entry] = ()
    classes: Sequence[str] = ()

    def __call__(self, _: object) -> dict[str, Any]:
        self.fifo.write_text(f"{os.getpid()}")
        signal.pause()
        return {}

    read = classes_in = __call__


def decode(fifo: Path) -> None:
    import torch

    shape = geometry(Transform(size=8, resize=8))
    decoder = Decoder(Endless(fifo), np.arange(2), [Piece(0, 0, 1, (shape,)), Piece(0, 1, 2, (shape,))], False, False)
    next(decoded(decoder, workers=1, device=torch.device("cpu")))


def run_jobs(fifo: Path) -> None:
    list(
        execute(
            [Job("endless", 1, "a", "b")],
            fifo.parent,
            OneByOne(Endless(fifo)),
            choose_executor(Means(2, devices=("cpu", "cpu"))),
        )
    )


def match_captions(fifo: Path) -> None:
    next(_tallies(iter([Batch(["a"], ["a cat"])]), Endless(fifo), CaptionRule(), workers=2))  # type: ignore[arg-type]


ENDS = [(decode, end) for end in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)]


@pytest.mark.parametrize(("work", "end"), [*ENDS, (run_jobs, signal.SIGTERM), (match_captions, signal.SIGKILL)])
def test_workers_end_with_their_parent(tmp_path: Path, work: Callable[[Path], None], end: signal.Signals) -> None:
    os.mkfifo(tmp_path / "fifo")
    parent = start_alone(ended_by_signals, work, tmp_path / "fifo")
    worker = os.pidfd_open(int((tmp_path / "fifo").read_text()))
    os.kill(parent.pid or 0, end)
    parent.join(60)
    ended, _, _ = select.select([worker], [], [], SECONDS)
    if not ended:
        signal.pidfd_send_signal(worker, signal.SIGKILL)
    os.close(worker)
    assert ended


def ended_by_signals(work: Callable[[Path], None], fifo: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup make test` ignores it, and children inherit that
    work(fifo)
