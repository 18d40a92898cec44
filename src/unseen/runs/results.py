"""Results of jobs: one small JSON file per job, named by the job's key.

The schema of a result file:

| key | meaning |
| --- | --- |
| key | the job's content key (`unseen.runs.job`), the name of the file |
| job | the job (`unseen.probes.job.Job`); fields at their defaults are omitted |
| values | `fits`: variant, values, details, interval, samples of each; `device`; what was noticed about the data |
| seconds | duration of the job |
| versions | package → version |

A result is written under another name and then renamed, so a kill at any moment loses at most the current jobs. Several
processes may share a folder: a job that two of them start is computed and written twice, with the same values.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.probes.job import Fit, Job, description_key, fits_read, not_finite, protocol_of
from unseen.reading.guard import reading
from unseen.reading.json_records import read_json, typed
from unseen.version import __version__

RESULTS = "results"
"""Name of the folder of results in the folder of a run."""
PACKAGES = ("numpy", "torch", "optuna")


@dataclass(frozen=True)
class Result:
    """The result of a job; the docstring of this module explains each field."""

    key: str
    job: dict[str, Any]
    values: dict[str, Any]
    seconds: float
    versions: dict[str, str]

    def is_of(self, *probes: str) -> bool:
        """Whether this is a result of one of these probes, and not of a user's own."""
        return self.job["probe"] in probes and not self.job.get("code")

    @cached_property
    def fits(self) -> list[Fit]:
        """Its fits; a damaged result is an error that names its file."""
        with reading_result(self):
            return list(fits_read(self.job, self.values, f"{self.key}.json"))

    @property
    def details(self) -> Mapping[str, Any]:
        """The details of its first fit."""
        with reading_result(self):
            return self.fits[0].details

    @property
    def setting(self) -> tuple[int | None, int]:
        """Shots, and the seed."""
        return self.job.get("shots"), self.job.get("seed", 0)

    @property
    def protocol(self) -> str:
        """Name of its protocol; empty if its probe has none."""
        return protocol_of(self.job.get("settings", {}))


def reading_result(result: Result) -> AbstractContextManager[None]:
    """A context in which every error about the values of a result names its file."""
    return reading(Path(f"{result.key}.json"), "a result of this version", "delete the file and run again")


def result_path(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def read_result(folder: Path, key: str) -> Result | None:
    """The result of a job, or None if it has none. A file that is damaged or belongs to another job counts as none."""
    path = result_path(folder, key)
    try:
        with reading(path, "a result"):
            result: Result = typed(read_json(path), Result, str(path))
            return result if result.key == key == description_key(result.job) else None
    except UserError:
        return None


def read_all(folder: Path, keys: Sequence[str]) -> list[Result]:
    """The results that exist, in the order of the keys of their jobs."""
    return [result for key in keys if (result := read_result(folder, key))]


def missing(jobs: Sequence[Job], folder: Path) -> list[Job]:
    """The jobs without a result, each once, in order."""
    first = {job.key: job for job in reversed(jobs)}
    return [first[key] for key in reversed(first) if read_result(folder, key) is None]


def write_result(folder: Path, job: Job, values: Mapping[str, Any], seconds: float) -> None:
    """Write the result of a job; values that are not finite are refused."""
    refuse_not_finite(job, values)
    record = {"key": job.key, "job": job.described, "values": values, "seconds": seconds, "versions": versions()}
    with atomic_write(result_path(folder, job.key)) as file:
        file.write(json.dumps(record).encode())


def refuse_not_finite(job: Job, values: Mapping[str, Any]) -> None:
    """Refuse values of a job if a number among them is not finite: no score may rest on it."""
    wrong = next(not_finite(values), None)
    if wrong is not None:
        name, value = wrong
        raise UserError(
            f"{job.probe} of {job.backbone} on {job.dataset}: {name} is {value:g}, which is not a finite number; this "
            "result is not kept, so check the features and the settings of the probe"
        )


@cache
def versions() -> dict[str, str]:
    """Versions of this package and of the packages that numbers depend on."""
    found = {"unseen": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
