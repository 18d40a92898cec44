"""Results of jobs: one small JSON file per job, named by the job's key.

The schema of a result file:

| key | meaning |
| --- | --- |
| key | the job's content key (`unseen.runs.job`), the name of the file |
| job | the job (`unseen.probes.job.Job`); fields at their defaults are omitted |
| values | `fits`: variant, values, details, interval, samples of each; `device`; what was noticed about the data |
| seconds | duration of the job |
| versions | package → version |

Beside the results of dense tasks, `KEY.npz` has what they keep of each image (`unseen.probes.units`); `tests/`, beside
the folder, has the images of test sets. Both are written before the result, so that a result has them.

A result is written under another name and then renamed, so a kill at any moment loses at most the current jobs. Several
processes may share a folder: a job that two of them start is computed and written twice, with the same values. Of many
results there is an index (`unseen.runs.result_index`), from which those are read whose files have not changed.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import UserError
from unseen.files import atomic_write, write_text
from unseen.probes.job import Fit, Job, description_key, fits_read, not_finite, protocol_of
from unseen.probes.units import BESIDE, Beside, ScoredImages
from unseen.reading.guard import reading
from unseen.reading.json_records import read_json, typed
from unseen.runs import result_index
from unseen.runs.lock import folder_lock
from unseen.version import __version__

RESULTS = "results"
"""Name of the folder of results in the folder of a run."""
TESTS = "tests"
"""Name of the folder of test sets, beside the folder of results."""
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


class reading_result:  # noqa: N801 (used as a function)
    """A context in which every error about the values of a result names its file."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __enter__(self) -> None:
        """Cheap, as it is entered several times for each of many results."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            path = Path(f"{self._result.key}.json")
            with reading(path, "a result of this version", "delete the file and run again"):
                raise error


def result_path(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def beside_path(folder: Path, key: str) -> Path:
    """The file with the arrays of a result."""
    return folder / f"{key}.npz"


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
    found = _found(folder, keys)
    results = (_of_index(found[key]) if key in found else None for key in keys)
    return [result for result in results if result]


def missing(jobs: Sequence[Job], folder: Path) -> list[Job]:
    """The jobs without a result, each once, in order."""
    first = {job.key: job for job in reversed(jobs)}
    found = _found(folder, list(first))
    return [first[key] for key in reversed(first) if key not in found]


def _found(folder: Path, keys: Sequence[str]) -> dict[str, "Result | bytes"]:
    """The results that exist by key: those of an index as they are in it, the others read from their files."""
    if len(keys) < result_index.FEWEST:
        return {key: result for key in keys if (result := read_result(folder, key))}
    files = result_index.listed(folder)
    entered = result_index.read_index(folder, files)
    new = {key: result for key in keys if key not in entered and (result := read_result(folder, key))}
    if result_index.is_worth_writing(len(new), len(entered)):
        result_index.write_index(folder, files, entered, {key: vars(result) for key, result in new.items()})
    return {**new, **{key: entered[key] for key in keys if key in entered}}


def _of_index(found: "Result | bytes") -> Result:
    return found if isinstance(found, Result) else Result(**json.loads(found))


def write_result(folder: Path, job: Job, values: Mapping[str, Any], seconds: float) -> None:
    """Write the result of a job, and before it what is beside it; values that are not finite are refused."""
    kept = {name: value for name, value in values.items() if name != BESIDE}
    beside: Beside = values.get(BESIDE, Beside())
    arrays: dict[str, Any] = {**beside.arrays}
    refuse_not_finite(job, kept)
    if beside.images is not None:
        path = folder.parent / TESTS / f"{images_name(job.reads)}.npz"
        if not path.exists():
            write_images(path, beside.images)
    record = {"key": job.key, "job": job.described, "values": kept, "seconds": seconds, "versions": versions()}
    # Of two processes that compute the same job, none may leave its arrays with the result of the other.
    with folder_lock(folder) if arrays else nullcontext():
        if arrays:
            with atomic_write(beside_path(folder, job.key)) as file:
                np.savez_compressed(file, **arrays)
        else:
            beside_path(folder, job.key).unlink(missing_ok=True)
        write_text(result_path(folder, job.key), json.dumps(record))


def remove_result(folder: Path, key: str) -> None:
    """Remove the result of a job and what is beside it; the result first, so that none is without it."""
    result_path(folder, key).unlink(missing_ok=True)
    beside_path(folder, key).unlink(missing_ok=True)


def images_name(reads: Mapping[str, str]) -> str:
    """The name of the test set of a job, from what it reads: the hashes that determine its images and their labels.

    It is empty for jobs on data without splits.
    """
    determining = ("test", "images", "outputs", "labels", "classes")
    return "-".join(reads[name] for name in determining if reads.get(name)).replace(" ", "-")


def write_images(path: Path, images: ScoredImages) -> None:
    """Write the images of a test set."""
    labels = {"images": np.array(images.count)} if images.y is None else {"y": images.y.astype(np.int32)}
    with atomic_write(path) as file:
        classes, ids = np.array(images.classes, dtype=np.str_), np.array(images.ids)
        np.savez_compressed(file, classes=classes, ids=ids, **labels)


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
