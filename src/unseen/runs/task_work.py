"""Computation of jobs on the splits of a data set, for any probe."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unseen.device import default_device
from unseen.features.by_hash import S, load_parts
from unseen.runs.fit_progress import FitProgress
from unseen.runs.job import job_key
from unseen.runs.result_flaws import zero_row_values

if TYPE_CHECKING:
    import torch

    from unseen.probes.by_name.linear import FitsSoFar


class TaskJob(Protocol):
    """A job of the task study: its domain is the data set, and `features` are the content hashes of its splits."""

    @property
    def study(self) -> str: ...
    @property
    def backbone(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    def run(self, parts: Sequence[Any], device: "torch.device", fits: "FitsSoFar", /) -> dict[str, Any]:
        """The values measured on the features of the splits."""

    def flops(self, rows: Mapping[str, int], dimension: int, classes: int) -> float:
        """The number of multiplications and additions for a number of rows per split."""


def run_task_job(
    job: TaskJob,
    *,
    places: Mapping[str, str],
    load: Callable[[Path], S],
    kept: Path | None = None,
    tell: Callable[[FitProgress], None] | None = None,
) -> dict[str, Any]:
    """The values of one job.

    Args:
        places, load: as in `load_parts`.
        kept: parent of the folder in which a long job stores its checkpoints (`kept_folder`).
        tell: called with the progress of a long job every few seconds; a function at module level, to be picklable.
    """
    from unseen.runs.kept_fits import KeptFits

    parts = _parts(job.features, tuple(places[each] for each in job.features), load)
    device = default_device()
    fits = KeptFits(kept and kept_folder(job, kept), f"{job.domain} by {job.backbone}", tell)
    values = job.run(parts, device, fits)
    met = zero_row_values({places[each]: part for each, part in zip(job.features, parts, strict=True)})
    return values | {"device": device.type} | met


@lru_cache(maxsize=1)
def _parts(hashes: tuple[str, ...], places: tuple[str, ...], load: Callable[[Path], S]) -> list[S]:
    """Features, cached for the next job."""
    return load_parts(hashes, dict(zip(hashes, places, strict=True)), load)


def kept_folder(job: TaskJob, kept: Path) -> Path:
    """The folder of the checkpoints of a job."""
    return kept / job_key(job)
