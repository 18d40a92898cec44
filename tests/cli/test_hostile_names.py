"""Names from data are text to the terminal, to scripts and to spreadsheets, whatever is in them."""

import json

import pandas as pd
import pytest

from unseen.cli.output import console, note, print_json, print_table
from unseen.runs.tables import write_table

HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\u202ename"


@pytest.mark.parametrize(
    "show",
    [
        lambda: print_table(HOSTILE, [HOSTILE], [[HOSTILE]]),
        lambda: console().print(HOSTILE),
        lambda: note(HOSTILE),
        lambda: print_json({HOSTILE: [HOSTILE]}),
    ],
)
def test_no_escape_sequence_reaches_the_terminal(show: object, capsys: pytest.CaptureFixture[str]) -> None:
    show()  # type: ignore[operator]
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "name" in shown
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_json_for_scripts_keeps_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([HOSTILE])
    assert json.loads(capsys.readouterr().out) == [HOSTILE]


def test_tables_have_no_formulas(tmp_path: object) -> None:
    path = tmp_path / "t.csv"  # type: ignore[operator]
    write_table(pd.DataFrame({"=a": ["=1+2", "-0.5", None], "b": [-1.5, 2.0, 3.0]}), path)
    assert path.read_text() == "'=a,b\n'=1+2,-1.5\n-0.5,2.0\n,3.0\n"
