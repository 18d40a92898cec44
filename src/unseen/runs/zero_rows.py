"""Rows of features that are all zeros: counted by the jobs that read them, and found again in their results."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from unseen.features.features import Features
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.results import Result

VALUE = "zero_rows"


def zero_row_values(parts: Mapping[str, Features]) -> dict[str, Any]:
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
