"""Flaws of jobs, as counted in their results: rows of zeros, damaged images, and steps without a finite loss."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from unseen.features.by_hash import Stored
from unseen.probes.by_name.classifier import ShiftJob
from unseen.probes.by_name.dense_trained import DenseTrainingJob
from unseen.probes.finetuning.jobs import FinetuneJob, FinetuneTaskJob
from unseen.probes.job import Job
from unseen.reading.json_records import typed
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.results import Result, reading_result

VALUE = "zero_rows"
TRAININGS: tuple[type[Job], ...] = (DenseTrainingJob, FinetuneJob, FinetuneTaskJob)


def zero_row_values(parts: Mapping[str, Stored]) -> dict[str, Any]:
    """The entry of a result about the rows of zeros in its features; nothing if there are none.

    Args:
        parts: features by the path of their file or store.
    """
    found = [
        {
            "place": "/".join(PurePath(place).parts[-2:]),
            "count": len(features.zero_rows),
            "total": len(features),
            "examples": [str(row) for row in features.zero_rows[:MOST_EXAMPLES]],
        }
        for place, features in parts.items()
        if features.zero_rows
    ]
    return {VALUE: found} if found else {}


def zero_rows(results: Iterable[Result]) -> list[Flaw]:
    """The rows of zeros in the features of jobs, once per file or store."""
    found = []
    for result in results:
        with reading_result(result):
            for met in result.values.get(VALUE, ()):
                flaw = {"kind": "zero-rows", "backbone": result.job["backbone"], "domain": result.job["domain"], **met}
                found.append(typed(flaw, Flaw, f"{result.key}.json, {VALUE}"))
    return list(dict.fromkeys(found))


def images_left_out(results: Sequence[Result]) -> list[Flaw]:
    """The damaged images that were skipped, once per test set."""
    found = []
    for result in results:
        with reading_result(result):
            if result.is_of(ShiftJob) and result.values["damaged"]:
                job, values = result.job, result.values
                flaw = {"kind": "damaged-images", "backbone": job["backbone"], "domain": job["test_set"],
                        "place": "test images", "count": values["damaged"], "total": values["of"],
                        "examples": values["examples"]}  # fmt: skip
                found.append(typed(flaw, Flaw, f"{result.key}.json"))
    return list(dict.fromkeys(found))


def skipped_steps(results: Iterable[Result]) -> list[Flaw]:
    """The steps of trainings whose loss was not finite, once per training."""
    found = []
    for result in results:
        with reading_result(result):
            kind = next(filter(result.is_of, TRAININGS), None)
            if kind is not None and result.values.get("skipped"):
                job, [fit] = result.job, kind.read(result.job, result.values)
                flaw = {"kind": "skipped-steps", "backbone": job["backbone"], "domain": job["domain"],
                        "place": f"the training of {fit.variant}", "count": result.values["skipped"],
                        "total": job["protocol"]["steps"]}  # fmt: skip
                found.append(typed(flaw, Flaw, f"{result.key}.json", defaults=True))
    return list(dict.fromkeys(found))
