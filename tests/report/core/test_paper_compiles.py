"""The documents of exports compile with LaTeX and BibTeX, without texts that leave their columns."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hit_runs import normal_hits, write_hit_run

import unseen
from unseen.report.core.export import export_page
from unseen.report.core.model import Cell, Column, Page, Row, Section, Table
from unseen.runs.data import Domain

pytestmark = [
    pytest.mark.long_suite,
    pytest.mark.skipif(not (shutil.which("pdflatex") and shutil.which("bibtex")), reason="needs pdflatex and bibtex"),
]
HOSTILE = [
    r"\input{/etc/passwd}", "50%_more$x^2~y", "{{{", "}", "模型", "resnet 🦊", "a&b#c\\\\", "é Ł ş ő ø ą", "]x[",
    "[1cm]", '"q"', "\\end{tabular}", "-", "a" * 60, "^^M", "\u202ename\x1b", "שלום", "µα≥²½",
]  # fmt: skip


def compiled(folder: Path) -> bytes:
    """The document of an export; errors and overfull lines fail."""
    for command in (["pdflatex"], ["bibtex"], ["pdflatex"], ["pdflatex"]):
        options = ["-interaction=nonstopmode", "-halt-on-error"] if command == ["pdflatex"] else []
        done = subprocess.run([*command, *options, "paper"], cwd=folder, capture_output=True, check=False, timeout=300)
        log = (folder / ("paper.log" if command == ["pdflatex"] else "paper.blg")).read_text(errors="replace")
        assert done.returncode == 0, log[-3000:]
        assert "Warning--" not in log
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log.replace("\n", ""))]
    assert max(wide, default=0) < 2
    assert "Float too large" not in log
    assert "undefined" not in log
    return (folder / "paper.pdf").read_bytes()


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    accuracy = {name: 0.4 + 0.02 * number for number, name in enumerate(HOSTILE)}
    domains = [Domain(name, name, axis="tasks") for name in ("a_b%", r"\input{x}", "中 🦊")]
    names = [domain.name for domain in domains]
    data = normal_hits(accuracy, images=100)
    run = write_hit_run(tmp_path / "run", HOSTILE, data, datasets=names, domains=domains)
    unseen.report(run, tmp_path / "page.html", export=tmp_path / "out")
    content = compiled(tmp_path / "out")
    assert content.startswith(b"%PDF")
    assert b"/Type3" not in content


def a_long_and_wide_table(folder: Path) -> None:
    columns = [Column("Model", number=False), *(Column(f"A data set with a long name {n}") for n in range(24))]
    rows = [Row([Cell(f"model {n}"), *(Cell("71.25", small="± 0.33") for _ in range(24))]) for n in range(130)]
    long = Table("long", columns, rows, "A long and wide table", groups=[("First", 12), ("Second", 12)])
    words = [Column("Setting", number=False), Column("Value", number=False)]
    paths = [Row([Cell(f"key-{n}"), Cell("/a/very/long/path" * 6 + "x" * n * 20)]) for n in range(40)]
    export_page(Page("Tables", [Section("part", "Part", tables=[long, Table("paths", words, paths)])]), folder)


def levels(folder: Path) -> None:
    accuracy = {"one": 0.8, "two": 0.7, "three": 0.6}
    domains = [
        Domain("seen", "seen", seen=True),
        *(Domain(f"l{n}", f"L{n}", similarity=1 - n / 9) for n in range(1, 6)),
    ]
    names = [domain.name for domain in domains]
    hits = normal_hits(accuracy, images=200)
    run = write_hit_run(
        folder / "run", [*accuracy], hits, datasets=names, domains=domains, axis="concepts", probe="logistic", seeds=2
    )
    unseen.report(run, folder / "page.html", export=folder)


def published(folder: Path) -> None:
    unseen.report([], folder / "page.html", published=True, export=folder)


@pytest.mark.parametrize("write", [a_long_and_wide_table, levels, published])
def test_every_kind_compiles(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path)
    assert compiled(tmp_path).startswith(b"%PDF")
