"""Computation of the jobs of probes of feature vectors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.device import default_device
from unseen.features.by_hash import load_unchanged
from unseen.features.features import Features
from unseen.features.read_ahead import read_ahead
from unseen.features.readers import read_features
from unseen.probes.job import Fit, Job, description_key, fits_kept
from unseen.probes.probe import Probe, ProbeData
from unseen.probes.protocol import Setting
from unseen.probes.vectors import ORDER, probe_data
from unseen.runs.fit_progress import FitProgress
from unseen.runs.result_flaws import zero_row_values

if TYPE_CHECKING:
    from unseen.runs.kept_fits import KeptFits

SPLITS = ("train", "val", "test", "all")


@dataclass(frozen=True)
class VectorWork:
    """Computes jobs that differ only in shots and seed, and yields each with its values; it is picklable.

    Attributes:
        places: content hash of features → their file or folder.
        kept: parent of the folders of the checkpoints of long jobs (`kept_folder`); None for no checkpoints.
        tell: called with the progress of a long job every few seconds; a function at module level, to be picklable.
        order: inputs of jobs in the order of all jobs, so that the next features are read while a GPU works.
    """

    places: Mapping[str, str]
    kept: Path | None = None
    tell: Callable[[FitProgress], None] | None = None
    order: Sequence[tuple[str, ...]] = ()

    def __call__(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        if not jobs:
            return
        probe, first = jobs[0].fitted, jobs[0]
        hashes = feature_hashes(first)
        places = tuple((split, each, self.places[each]) for split, each in hashes.items())
        named = f"{first.dataset} by {first.backbone}"
        data, zeros = _data(probe.validation, places, tuple(first.reads.items()), named, default_device().type)
        following = tuple(hashes.values())
        if data.device.startswith("cuda") and following in self.order[:-1]:
            read_ahead([Path(self.places[each]) for each in self.order[self.order.index(following) + 1]])
        by_setting = {job.setting: job for job in jobs}
        data = replace(data, checkpoint=lambda setting: self._checkpoint(by_setting[setting]))
        for job, fits in _by_job(probe, data, by_setting):
            yield job, fits_kept(fits) | {"device": data.device} | zeros

    def _checkpoint(self, job: Job) -> "KeptFits":
        from unseen.runs.kept_fits import KeptFits

        return KeptFits(self.kept and kept_folder(job, self.kept), f"{job.dataset} by {job.backbone}", self.tell)


def _by_job(probe: Probe, data: ProbeData, jobs: Mapping[Setting, Job]) -> Iterator[tuple[Job, list[Fit]]]:
    """Each job with all fits of its setting, when they are done."""
    variants, fits = probe.variants(data), dict[Setting, list[Fit]]()
    for fit in probe.fit(data, list(jobs)):
        setting = Setting(fit.shots, fit.seed)
        fits.setdefault(setting, []).append(replace(fit, samples=probe.samples(data, setting.shots)))
        if len(fits[setting]) == variants:
            yield jobs[setting], fits.pop(setting)


@lru_cache(maxsize=2)
def _data(
    validation: str,
    places: tuple[tuple[str, str, str], ...],
    reads: tuple[tuple[str, str], ...],
    named: str,
    device: str,
) -> tuple[ProbeData, dict[str, Any]]:
    """The data of a probe, cached for the next jobs, and the entry of results about rows of zeros.

    Args:
        validation: what becomes of validation samples (`Probe.validation`).
        places: split, content hash and place of features.
        named: name of the features of a data set, in error messages; others are named by their files.
    """
    parts: dict[str, Features] = {split: load_unchanged(each, place, read_features) for split, each, place in places}
    paths = {split: place for split, _, place in places}
    where = named if dict(reads).get(ORDER) == "sorted" else " and ".join(paths.values())
    data = probe_data(parts, dict(reads), where, joined=validation == "joins")
    zeros = zero_row_values({paths[split]: part for split, part in parts.items()})
    return replace(data, device=device), zeros


def feature_hashes(job: Job) -> dict[str, str]:
    """Split → content hash of the features that a job reads."""
    return {split: job.reads[split] for split in SPLITS if split in job.reads}


def but_setting(job: Job) -> str:
    """A key that only jobs share that differ in nothing but shots and seed."""
    return description_key({name: value for name, value in job.described.items() if name not in {"shots", "seed"}})


def kept_folder(job: Job, kept: Path) -> Path:
    """The folder of the checkpoints of a job."""
    return kept / job.key
