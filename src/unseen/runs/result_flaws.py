"""Flaws of jobs, as counted in their results: rows of zeros, damaged images, and trainings that went wrong."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from unseen.features.by_hash import Stored
from unseen.probes.by_name.classifier import Classifier
from unseen.probes.by_name.dinov2_linear import DINOv2Linear
from unseen.reading.json_records import typed
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.results import Result, reading_result

VALUE = "zero_rows"
TRAININGS = ("fine-tuned", "detector-frozen", "detector-finetuned", "psp", "upernet")
"""Probes that train a network."""


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
                flaw = {"kind": "zero-rows", "backbone": result.job["backbone"], "domain": result.job["dataset"], **met}
                found.append(typed(flaw, Flaw, f"{result.key}.json, {VALUE}"))
    return list(dict.fromkeys(found))


def images_left_out(results: Sequence[Result]) -> list[Flaw]:
    """The damaged images that were skipped, once per test set."""
    found = []
    for result in results:
        with reading_result(result):
            if result.is_of(Classifier.name) and result.details["damaged"]:
                job, details = result.job, result.details
                flaw = {"kind": "damaged-images", "backbone": job["backbone"], "domain": details["test_set"],
                        "place": "test images", "count": details["damaged"], "total": details["of"],
                        "examples": details["examples"]}  # fmt: skip
                found.append(typed(flaw, Flaw, f"{result.key}.json"))
    return list(dict.fromkeys(found))


def skipped_steps(results: Iterable[Result]) -> list[Flaw]:
    """The steps of trainings whose loss was not finite, once per training."""
    found = []
    for result in results:
        with reading_result(result):
            if result.is_of(*TRAININGS) and result.details.get("skipped"):
                job, [fit] = result.job, result.fits
                flaw = {"kind": "skipped-steps", "backbone": job["backbone"], "domain": job["dataset"],
                        "place": f"the training of {fit.variant}", "count": fit.details["skipped"],
                        "total": job["settings"]["protocol"]["steps"]}  # fmt: skip
                found.append(typed(flaw, Flaw, f"{result.key}.json", defaults=True))
    return list(dict.fromkeys(found))


def diverged(results: Iterable[Result]) -> list[Flaw]:
    """The classifiers of a grid that diverged, once per input."""
    found = []
    for result in results:
        with reading_result(result):
            fits = result.fits if result.is_of(DINOv2Linear.name) else []
            for fit in fits[1:] or fits:  # the first is the best of all inputs
                if fit.details["diverged"]:
                    flaw = {"kind": "diverged", "backbone": result.job["backbone"], "domain": result.job["dataset"],
                            "place": fit.variant, "count": fit.details["diverged"],
                            "total": len(fit.details["validation"])}  # fmt: skip
                    found.append(typed(flaw, Flaw, f"{result.key}.json", defaults=True))
    return list(dict.fromkeys(found))
