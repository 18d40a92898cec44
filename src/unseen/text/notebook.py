"""Display of a result as the last line of a notebook cell."""

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 60
"""Maximum number of rows shown."""


def table_html(title: str, table: "pd.DataFrame") -> str:
    """A titled HTML table for a notebook, with escaped texts; a long table is truncated."""
    left = len(table) - MOST_ROWS
    more = f"<p>… and {left:,} more rows</p>" if left > 0 else ""
    shown = table.head(MOST_ROWS).to_html(
        index=False, border=0, escape=True, na_rep="", float_format=lambda x: f"{x:.4g}"
    )
    return f"<p><b>{escape(title)}</b></p>{shown}{more}"
