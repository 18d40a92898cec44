"""Checkpoints of a linear probe: a killed probe resumes from them and gives the same result.

    grid-000.npz, grid-012.npz …     segments of the regularization path, by the number of penalties before them
    chosen-000.npz …                 the best penalties at their optima, in the order in which they were solved
    refit-000.npz                    the fit to training and validation data

Files are written at intervals, so a probe that takes seconds writes none.
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
"""Seconds between checkpoints: the most work that a kill loses, beside the current fit."""
SECONDS_BETWEEN_LINES = 10.0
TENSORS = ("coefs", "objective", "gradient_norm", "iterations", "converged")


class KeptFits:
    """The solved segments of a probe's regularization paths.

    Attributes:
        solved: the segments that the folder had at the start, from an interrupted run.
    """

    def __init__(self, folder: Path | None, what: str, tell: Callable[[FitProgress], None] | None) -> None:
        """Args:
        folder: folder of the checkpoints; None for no checkpoints.
        what: the data set and the backbone, for progress.
        tell: called with the progress every few seconds.
        """
        self.solved: dict[Stage, list[Solved]] = {stage: _read(folder, stage) for stage in get_args(Stage)}
        self._folder, self._what, self._tell = folder, what, tell
        self._waiting: list[tuple[Stage, Solved]] = []
        self._stage: Stage | None = None
        self._written = self._told = self._began = time.monotonic()
        self._first = 0

    def add(self, stage: Stage, stretch: Solved, total: int) -> None:
        """Add a segment that was just solved, of a path with `total` penalties."""
        now = time.monotonic()
        if stage != self._stage:
            # The time of the first segment alone is not known, so rates are measured on the later ones.
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
        """Write the segments that were added since the last write."""
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
    """The segments of a path from its beginning up to the first gap; a damaged file is a gap."""
    found: list[Solved] = []
    start = 0
    while folder is not None:
        path = _file(folder, stage, start)
        try:
            with reading(path, "a segment of a path"):
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
