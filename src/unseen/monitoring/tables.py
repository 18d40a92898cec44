"""The scores of a training as a table."""

from collections.abc import Iterable

import pandas as pd

from unseen.monitoring.scores import Check
from unseen.runs.score import shots_name

COLUMNS = ("step", "dataset", "probe", "shots", "seed", "metric", "value", "low", "high", "seconds")


def score_frame(checks: Iterable[Check]) -> pd.DataFrame:
    """One row per score; `shots` is text, a number or `all`."""
    rows = [
        {name: getattr(score, name) for name in COLUMNS} | {"shots": shots_name(score.shots)}
        for check in checks
        for score in check.scores
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS])
