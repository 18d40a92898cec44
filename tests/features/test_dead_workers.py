"""A process that decodes images and dies: said in one sentence, whenever PyTorch notices, and nothing is lost."""

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
import torch
from alone import start_telling
from test_extract import SETTINGS, means, plain_features, write_images

from unseen.data.core.folder import FileImages
from unseen.data.core.manifest import whole
from unseen.data.core.source import Entry
from unseen.errors import UserError
from unseen.features.batches import dead_workers_named
from unseen.features.extract import extract
from unseen.features.store import read_store


@dataclass(frozen=True)
class Deadly:
    """Images of which one ends the process that decodes it, as the system does when there is no memory left."""

    source: FileImages
    number: int

    @property
    def entries(self) -> Sequence[Entry]:
        return self.source.entries

    @property
    def about(self) -> dict[str, str]:
        return {}

    def read(self, number: int) -> bytes:
        if number == self.number and torch.utils.data.get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.source.read(number)


def extract_deadly(source: Deadly, out: Path, tell: Connection) -> None:
    try:
        with dead_workers_named():
            extract(source, whole(source, "train"), "train", [means()], out, replace(SETTINGS, workers=1))
    except UserError as error:
        tell.send(str(error))


def test_a_decoding_process_that_dies(tmp_path: Path) -> None:
    """In a process of its own: PyTorch's signal of the death may come at any time, even when that process ends."""
    ten, out = write_images(tmp_path / "images", 10), tmp_path / "out"
    process, told = start_telling(extract_deadly, Deadly(ten, 9), out)
    assert re.search(r"decodes images died.* --shm-size=8g .*do the same again.*workers=", told.recv())
    process.join()
    (store,) = extract(ten, whole(ten, "train"), "train", [means()], out, SETTINGS)
    assert np.allclose(np.asarray(read_store(store).X), plain_features(ten, range(10), means()), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("DataLoader worker (pid(s) 7, 8) exited unexpectedly", True),
        ("unable to allocate shared memory(shm) for file </torch_1_2_3>: No space left on device (28)", True),
        ("Caught RuntimeError in DataLoader worker process 0.\nmat1 and mat2 cannot be multiplied", False),
    ],
)
def test_only_deaths_of_workers_are_told_as_such(said: str, named: bool) -> None:
    with pytest.raises(UserError if named else RuntimeError), dead_workers_named():
        raise RuntimeError(said)


def test_an_output_that_nobody_reads_is_no_death() -> None:
    with pytest.raises(BrokenPipeError), dead_workers_named():
        raise BrokenPipeError
    with pytest.raises(UserError, match="decodes images died"), dead_workers_named():
        raise ConnectionResetError
