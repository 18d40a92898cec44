"""What formats for others share: names that every system takes, and metrics of which one direction is better."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.exchange.read import own_metrics
from unseen.exchange.record import ResultRecord
from unseen.metrics.catalogue import METRICS, Metric
from unseen.text.digits import four_digits

LONGEST = 80
RESERVED = {"con", "prn", "aux", "nul", "data", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))}
"""Names of folders that Windows or a format keeps for itself, in small letters."""


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        scores: number of scores in the files.
        left_out: data set or metric → why it was left out.
    """

    files: Sequence[Path]
    scores: int
    left_out: Mapping[str, str]


def portable_name(text: str) -> str:
    """A text of at most 80 ASCII letters, digits, underscores, and single dots and hyphens between them.

    A text that has to be changed also gets four digits of the SHA-256 of the original, so that it differs from others.
    """
    single = re.sub(r"([.-])[.-]+", r"\1", re.sub(r"[^A-Za-z0-9._-]+", "-", text)).strip("-._")
    if single == text and 0 < len(text) <= LONGEST and text.partition(".")[0].lower() not in RESERVED:
        return text
    plain = single[: LONGEST - 5].rstrip("-._")
    return f"{plain or 'x'}-{four_digits(text)}"


def directed_metrics(record: ResultRecord) -> dict[str, Metric]:
    """The metrics of a record by name, of which one direction is better."""
    known = {**METRICS, **own_metrics(record)}
    names = {score.metric for score in record.scores}
    return {name: known[name] for name in names if name in known and known[name].higher_is_better is not None}
