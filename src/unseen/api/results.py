"""`unseen.check`: whether results files are sound."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def check(files: str | PathLike[str] | Sequence[str | PathLike[str]]) -> "pd.DataFrame":
    """Check results files, as `run.export` and `unseen export` write them.

    Args:
        files: one file, or several.

    Returns:
        One row per finding: file, severity ("error", "warning" or "note"), where and text. A file without errors is
        valid, and one without rows has nothing unlikely in it either.

    Example:
        >>> unseen.check("results.json")
    """
    import pandas as pd

    from unseen.exchange.check import check_results

    paths = [Path(each) for each in ([files] if isinstance(files, str | PathLike) else files)]
    rows = [(str(path), each.severity, each.where, each.text) for path in paths for each in check_results(path)]
    return pd.DataFrame(rows, columns=["file", "severity", "where", "text"])
