"""Notebooks are run as Jupyter runs them, and become pages."""

import pytest

from notebooks import Notebook, as_page, executed, texts

PICTURE = """
class Picture:
    def _repr_png_(self): return b"PNG"
    def __repr__(self): return "Picture('a title')"

Picture()
"""
TABLE = """
class Table:
    def _repr_html_(self): return '<table border="1" class="dataframe">\\n  <tr style="x"><td>1</td></tr></table>'

Table()
"""


def notebook(*sources: str) -> Notebook:
    text = {"cell_type": "markdown", "source": ["# Title\n", "words"]}
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": []} for source in sources]
    return {"cells": [text, *cells]}


def test_cells_share_names_and_show_their_last_line() -> None:
    found = executed(notebook("x = 2\nprint('a')\nx + 1", "x * 5", "y = 1"))
    assert texts(found) == ["a\n3", "10", ""]
    assert [cell.get("execution_count") for cell in found["cells"]] == [None, 1, 2, 3]


def test_a_cell_that_fails_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        executed(notebook("1 / 0"))


def test_pages_have_code_outputs_and_pictures() -> None:
    page, pictures = as_page(executed(notebook("print('out')", PICTURE, TABLE)), "tour")
    assert page.startswith("# Title\nwords\n\n```python\nprint('out')\n```\n\n```output\nout\n```\n\n")
    assert "\n![a title](tour-1.png)\n" in page
    assert page.endswith("<div><table><tr><td>1</td></tr></table></div>\n")
    assert pictures == {"tour-1.png": b"PNG"}
