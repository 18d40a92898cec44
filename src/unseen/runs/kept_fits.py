"""What a linear probe has solved so far, on disk: a killed one goes on from there, to the same result.

    grid-000.npz, grid-012.npz …     stretches of the path of all penalties, by the number of penalties before them
    chosen-000.npz …                 the best of them at their optima, in the order in which they were solved
    refit-000.npz                    the fit to training and validation data

Files are written every so often only: a probe that takes seconds leaves none.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.probes.newton.lbfgs import Minimum
from unseen.probes.newton.search import Stage
from unseen.probes.newton.walk import Solved
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.runs.fit_progress import FitProgress

SECONDS_BETWEEN_FILES = 30.0
"""How long a probe computes before it writes what it has: the most that a kill loses, beside the fit under way."""
SECONDS_BETWEEN_LINES = 10.0
TENSORS = ("coefs", "objective", "gradient_norm", "iterations", "converged")


class KeptFits:
    """The stretches of a probe's paths, those from an earlier run first.

    Attributes:
        solved: what the folder had when this was made.
    """

    def __init__(self, folder: Path | None, what: str, tell: Callable[[FitProgress], None] | None) -> None:
        """Args:
        folder: where stretches are kept; None to keep nothing.
        what: whose progress this is.
        tell: told every few seconds how far the probe is.
        """
        self.solved: dict[Stage, list[Solved]] = {stage: _read(folder, stage) for stage in get_args(Stage)}
        self._folder, self._what, self._tell = folder, what, tell
        self._waiting: list[tuple[Stage, Solved]] = []
        self._stage: Stage | None = None
        self._written = self._told = self._began = time.monotonic()
        self._first = 0

    def add(self, stage: Stage, stretch: Solved, total: int) -> None:
        """Take a stretch that was just solved, of a path with `total` penalties."""
        now = time.monotonic()
        if stage != self._stage:
            # The time of the first stretch is not known on its own: rates are those of the ones behind it.
            self._stage, self._began, self._first = stage, now, stretch.stop
        self._waiting.append((stage, stretch))
        if now - self._written >= SECONDS_BETWEEN_FILES:
            self._write()
        done = stretch.stop - self._first
        if self._tell is not None and done and now - self._told >= SECONDS_BETWEEN_LINES:
            left = (now - self._began) / done * (total - stretch.stop)
            self._tell(FitProgress(self._what, stage, stretch.stop, total, left))
            self._told = now

    def _write(self) -> None:
        """Write what has come since the last time."""
        self._written = time.monotonic()
        for stage, each in self._waiting:
            if self._folder is None:
                break
            arrays: dict[str, Any] = {name: getattr(each.found, name).cpu().numpy() for name in TENSORS}
            arrays |= {"penalties": each.penalties.cpu().numpy(), "hard": each.found.hard, "basis": each.basis}
            try:
                with atomic_write(_file(self._folder, stage, each.start)) as file:
                    np.savez(file, **arrays)
            except UserError:
                if self._folder.is_dir():  # otherwise another process has finished the same job and removed it
                    raise
        self._waiting = []


def _read(folder: Path | None, stage: Stage) -> list[Solved]:
    """The stretches of a path from its beginning on, as far as they leave no gap; a damaged file is one."""
    found: list[Solved] = []
    start = 0
    while folder is not None:
        path = _file(folder, stage, start)
        try:
            with reading(path, "a stretch of a path"):
                file = read_npz(path)
                tensors = {name: torch.from_numpy(file[name]) for name in TENSORS}
                penalties, basis = torch.from_numpy(file["penalties"]), str(file["basis"])
                stretch = Solved(start, penalties, Minimum(**tensors, hard=bool(file["hard"])), basis)
        except UserError:
            break
        if stretch.stop <= start:
            break
        found.append(stretch)
        start = stretch.stop
    return found


def _file(folder: Path, stage: str, start: int) -> Path:
    return folder / f"{stage}-{start:03d}.npz"
