"""Computation of jobs on pairs of features, for any probe."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from unseen.device import default_device
from unseen.features.by_hash import S, load_parts
from unseen.features.read_ahead import read_ahead
from unseen.probes.job import Fit, samples_kept
from unseen.probes.probe import FeatureJob, ProbeData
from unseen.probes.protocol import Setting
from unseen.runs.job import describe, description_key
from unseen.runs.result_flaws import zero_row_values

J = TypeVar("J", bound=FeatureJob)


def run_alike(
    jobs: Sequence[J],
    *,
    places: Mapping[str, str],
    load: Callable[[Path], S],
    order: Sequence[tuple[str, str]] = (),
) -> Iterator[tuple[J, dict[str, Any]]]:
    """The values of jobs that differ only in shots and seed; yields each job when it is done.

    Args:
        places, load: as in `load_parts`.
        order: hashes of training and test features in the order of all jobs, so that the next features can be read
            while a GPU works.
    """
    if not jobs:
        return
    train, test, probe = jobs[0].train, jobs[0].test, jobs[0].probe
    data, zeros = _data(probe.prepare, (train, test), (places[train], places[test]), load, default_device().type)
    variants = probe.variants(data)
    if data.device.startswith("cuda") and (train, test) in order[:-1]:
        read_ahead([Path(places[each]) for each in order[order.index((train, test)) + 1]])
    by_setting = {job.setting: job for job in jobs}
    fits: dict[Setting, list[Fit]] = {setting: [] for setting in by_setting}
    for fit in probe.fit(data, list(by_setting)):
        setting = Setting(fit.shots, fit.seed)
        fits[setting].append(fit)
        if len(fits[setting]) == variants:
            job = by_setting[setting]
            samples = samples_kept(probe.samples(data, setting.shots))
            yield job, job.kept(fits.pop(setting)) | {"device": data.device} | samples | zeros


@lru_cache(maxsize=2)
def _data(
    prepare: Callable[[Sequence[Any], str, str], ProbeData],
    hashes: tuple[str, str],
    places: tuple[str, str],
    load: Callable[[Path], S],
    device: str,
) -> tuple[ProbeData, dict[str, Any]]:
    """The prepared data of a probe, cached for the next jobs, and the entry of results about rows of zeros."""
    sides = load_parts(hashes, dict(zip(hashes, places, strict=True)), load)
    return prepare(sides, " and ".join(places), device), zero_row_values(dict(zip(places, sides, strict=True)))


def alike(jobs: Sequence[J]) -> list[list[J]]:
    """The jobs in groups that differ only in shots and seed, in the order of the first job of each."""
    groups: dict[str, list[J]] = {}
    for job in jobs:
        shared = {name: value for name, value in describe(job).items() if name not in {"shots", "seed"}}
        groups.setdefault(description_key(shared), []).append(job)
    return list(groups.values())
