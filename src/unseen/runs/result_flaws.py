"""What is wrong with the data that jobs met, counted in their results: rows of zeros, and images left out."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from unseen.features.by_hash import Stored
from unseen.probes.by_name.classifier import ShiftJob
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.results import Result

VALUE = "zero_rows"


def zero_row_values(parts: Mapping[str, Stored]) -> dict[str, Any]:
    """What a result keeps of the rows of zeros that its job met; nothing where there are none.

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
    """The rows of zeros that jobs met, once for each file or store."""
    found = [
        Flaw("zero-rows", result.job["backbone"], result.job["domain"], **(met | {"examples": tuple(met["examples"])}))
        for result in results
        for met in result.values.get(VALUE, ())
    ]
    return list(dict.fromkeys(found))


def images_left_out(results: Sequence[Result]) -> list[Flaw]:
    """The damaged images that were left out of test sets, once for each."""
    found = [
        Flaw(
            "damaged-images", result.job["backbone"], result.job["test_set"], "test images",
            result.values["damaged"], result.values["of"], tuple(result.values["examples"]),
        )
        for result in results
        if result.is_of(ShiftJob) and result.values["damaged"]
    ]  # fmt: skip
    return list(dict.fromkeys(found))
