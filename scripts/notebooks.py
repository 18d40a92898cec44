"""Run the notebooks of docs/notebooks and keep their outputs; and notebooks as pages of the site.

    python scripts/notebooks.py docs/notebooks/tour.ipynb

Cells run in one namespace, in a temporary folder. Jupyter is not needed, and what it shows is the same.
"""

import ast
import base64
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

WIDTH = "110"
"""Columns of printed tables."""

Notebook = dict[str, Any]


def executed(notebook: Notebook, times: int = 1) -> Notebook:
    """The notebook with the outputs of its cells, run in order in an empty folder that is removed afterwards.

    Each cell is run a number of times before the next one; its outputs are those of the last time.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                cells.append(cell)
                continue
            count = 1 + sum(each["cell_type"] == "code" for each in cells)
            outputs = [_run("".join(cell["source"]), names, count) for _ in range(times)]
            cells.append(cell | {"execution_count": count, "outputs": outputs[-1]})
    return notebook | {"cells": cells}


def texts(notebook: Notebook) -> list[str]:
    """What each code cell prints and shows as text; of a picture, that there is one."""
    return [
        "".join("".join(_text(output)) for output in cell["outputs"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def _text(output: dict[str, Any]) -> list[str]:
    data = output.get("data", {})
    return ["(a picture)"] if "image/png" in data else output.get("text") or data["text/plain"]


def as_page(notebook: Notebook, name: str) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by file name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                file = f"{name}-{len(pictures) + 1}.png"
                pictures[file] = base64.b64decode(data["image/png"])
                title = re.search(r"'(.+?)'", "".join(data["text/plain"]))
                parts.append(f"![{title[1] if title else 'Figure of the code above'}]({file})")
            elif "text/html" in data:
                parts.append(f"<div>{_plain_table(''.join(data['text/html']))}</div>")
            else:
                parts.append(f"```output\n{''.join(_text(output)).rstrip()}\n```")
    return "\n\n".join(parts) + "\n", pictures


def _plain_table(html: str) -> str:
    """A table without the style of pandas, so that it has that of the page."""
    return re.sub(r"<style.*?</style>|(?<=<table) [^>]*|(?<=<tr) [^>]*|\n\s*", "", html, flags=re.DOTALL)


def _run(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell as Jupyter does: what it prints, and the value of a last line that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, f"cell {count}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = dict(_shown(value))
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _shown(value: Any) -> Iterator[tuple[str, str | list[str]]]:
    if hasattr(value, "_repr_png_"):
        yield "image/png", base64.b64encode(value._repr_png_()).decode()
    if hasattr(value, "_repr_html_"):
        yield "text/html", _lines(value._repr_html_())
    yield "text/plain", _lines(repr(value))


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def read(path: Path) -> Notebook:
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


if __name__ == "__main__":
    os.environ["COLUMNS"] = WIDTH
    warnings.simplefilter("error")
    for path in map(Path, sys.argv[1:]):
        text = json.dumps(executed(read(path)), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
