"""How a result is shown as the last line of a notebook's cell."""

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 60
"""Rows of a table that are shown."""


def table_html(title: str, table: "pd.DataFrame") -> str:
    """A titled table for a notebook, its texts escaped; of a long one the first rows."""
    left = len(table) - MOST_ROWS
    more = f"<p>… and {left:,} more rows</p>" if left > 0 else ""
    shown = table.head(MOST_ROWS).to_html(
        index=False, border=0, escape=True, na_rep="", float_format=lambda x: f"{x:.4g}"
    )
    return f"<p><b>{escape(title)}</b></p>{shown}{more}"
