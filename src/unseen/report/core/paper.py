"""A LaTeX document of all tables and figures of a page: to look at, and to copy from into a paper."""

from collections.abc import Iterator, Mapping

from unseen.report.core.model import Figure, Page, Section, Table
from unseen.text.latex import escaped, with_definitions

FLOATS = 4
"""Tables or figures after which LaTeX prints those that wait; it keeps no more than 52."""
PREAMBLE = r"""% Tables and figures for a paper of two columns; run pdflatex, bibtex, and pdflatex twice again.
\documentclass[10pt,twocolumn,letterpaper]{article}
\usepackage[letterpaper,textwidth=6.75in,textheight=9in,columnsep=0.25in]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
"""


def tables_latex(tables: Mapping[str, Table]) -> str:
    """All tables, one file each."""
    return "\n".join(_with_breaks(f"\\input{{{name}}}" for name in tables)) + "\n"


def figures_latex(page: Page, figures: Mapping[str, Figure]) -> str:
    """All figures as floats of one column, with captions; the files without `-column` are for both columns."""
    floats = (
        f"\\begin{{figure}}[tp]\n\\centering\n\\includegraphics{{{name}-column}}\n"
        f"\\caption{{{escaped(_caption(figure, _section_of(page, name)))}}}\\label{{fig:{name}}}\n\\end{{figure}}\n"
        for name, figure in figures.items()
    )
    return with_definitions("\n".join(_with_breaks(floats)) + "\n")


def _section_of(page: Page, name: str) -> Section | None:
    """The section that a figure is named after: the one with the longest name, as names may begin alike."""
    found = [each for each in page.sections if name == each.name or name.startswith(f"{each.name}-")]
    return max(found, key=lambda each: len(each.name), default=None)


def _caption(figure: Figure, section: Section | None) -> str:
    """The title, after that of the section where it is not enough, and the caption, in sentences."""
    parts = dict.fromkeys(filter(None, [section.title if section else "", figure.title, figure.caption]))
    return " ".join(part if part.endswith((".", "?")) else f"{part}." for part in parts)


def paper_latex(page: Page) -> str:
    """The document; it needs the other files of the folder."""
    cited = "\\nocite{*}\n\\bibliographystyle{plain}\n\\bibliography{results}\n"
    title = f"% {escaped(page.title)}\n"
    body = "\\input{all-tables}\n\\clearpage\n\\input{all-figures}\n\\clearpage\n"
    return f"{PREAMBLE}{title}\\begin{{document}}\n{body}{cited}\\end{{document}}\n"


def _with_breaks(parts: Iterator[str]) -> Iterator[str]:
    for number, part in enumerate(parts, 1):
        yield part
        if number % FLOATS == 0:
            yield "\\clearpage"
