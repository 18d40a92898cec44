"""LaTeX in which names are only text."""

import re

import pytest

from unseen.report.core.latex import latex_table
from unseen.report.core.model import Cell, Column, Row, Table
from unseen.text.latex import escaped, tabular


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50% & more_than $5 #1", r"50\% \& more\_than \$5 \#1"), ("[red]", "{[}red{]}"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"), ("−1.2 ± 0.3", r"$-$1.2 $\pm$ 0.3"),
        ("a~b^c", r"a\textasciitilde{}b\textasciicircum{}c"), ("two\nlines", "two lines"),
        ("<b>", r"\textless{}b\textgreater{}"), ("Müller Łukasz", r"M\"{u}ller \L{}ukasz"), ("e\u0301", r"\'{e}"),
        ("中", r"\unseenglyph{中}{U+4E2D}"), ("α ≥ 5²", r"$\alpha$ $\geq$ 5$^2$"),
    ],
)  # fmt: skip
def test_special_characters_are_escaped(text: str, latex: str) -> None:
    assert escaped(text) == latex


def test_no_text_can_leave_its_cell() -> None:
    """Braces are balanced, and every row has as many cells, whatever is in them."""
    odd = ["\\", "\\\\", "{", "}", "&", "%", "\\end{tabular}", "[1cm]", "$", "^^M", "\r", "\u2028", "\x00", "#1"]
    text = tabular("l" * len(odd), [escaped(each) for each in odd], [[escaped(each) for each in odd]] * 2)
    bare = re.sub(r"\\[\\&%$#_{}]", "", text.replace("\\textbackslash{}", ""))
    assert bare.count("{") == bare.count("}")
    assert "%" not in bare
    assert bare.count("&") == 3 * (len(odd) - 1)
    assert len(text.splitlines()) == 8


def test_a_pages_table_keeps_groups_marks_and_small_texts() -> None:
    columns = [Column("Model", number=False), Column("L1"), Column("L5"), Column("Empty")]
    cells = [Cell("a_1"), Cell("70.1", style="best", small="(±0.1)"), Cell("50.0", style="main", below="n=3"), Cell()]
    table = Table("t", columns, [Row(cells)], "A caption: 5%", groups=[("Levels", 2)], bold="Bold: the best.")
    assert latex_table(table).splitlines() == [
        r"% \usepackage{booktabs}",
        r"\begin{table}[tp]",
        r"\centering",
        r"\setlength{\belowcaptionskip}{4pt}",
        r"\caption{A caption: 5\%. Bold: the best.}\label{tab:t}",
        r"\small",
        r"\setlength{\tabcolsep}{4pt}",
        r"\begin{tabular}{@{}lrr@{}}",
        r"\toprule",
        r" & \multicolumn{2}{c}{Levels} \\",
        r"\cmidrule(lr){2-3}",
        r"Model & L1 & L5 \\",
        r"\midrule",
        r"a\_1 & \textbf{70.1} {\scriptsize ($\pm$0.1)} & 50.0 {\scriptsize (n=3)} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
