"""`unseen.check`: check results files for errors."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def check(files: str | PathLike[str] | Sequence[str | PathLike[str]]) -> "pd.DataFrame":
    """Check results files written by `run.export` or `unseen export` for errors and implausible scores.

    Args:
        files: one file, or several.

    Returns:
        One row per finding: file, severity ("error", "warning" or "note"), where and text. A file without errors is
        valid; a file without any row has no implausible scores either.

    Example:
        >>> unseen.check("results.json")
    """
    import pandas as pd

    from unseen.exchange.check import check_results

    paths = [Path(each) for each in ([files] if isinstance(files, str | PathLike) else files)]
    rows = [(str(path), each.severity, each.where, each.text) for path in paths for each in check_results(path)]
    return pd.DataFrame(rows, columns=["file", "severity", "where", "text"])
