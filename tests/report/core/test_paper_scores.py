"""Tables of scores for papers: bold is what paired comparisons do not resolve from the best, and nothing else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hit_runs import normal_hits, write_hit_run

from unseen.analyses.core.comparables import comparables
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.report.core.model import Table
from unseen.report.core.paper_scores import score_tables
from unseen.report.core.ties import RULE, best_and_ties

ACCURACY = {"best": 0.9, "near": 0.89, "far": 0.5}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    kept = lambda name, dataset: not (name == "near" and dataset == "c")  # noqa: E731
    folder = tmp_path_factory.mktemp("runs") / "run"
    return Run(write_hit_run(folder, [*ACCURACY], normal_hits(ACCURACY), seeds=2, kept=kept))


def bold(table: Table, column: int) -> set[str]:
    return {row.backbone for row in table.rows if row.cells[column].style == "tied"}


def test_bold_are_the_best_and_what_ties_with_it(run: Run) -> None:
    data = run.data
    every = comparables(data)
    [table] = score_tables(data, every)
    assert table.name == "paper-knn"
    for column, name in ((1, "a"), (2, "b")):
        compared = every.of(name, "knn", None) or next(each for each in every.every if each.place.dataset == name)
        assert bold(table, column) == {*compared.standings.groups[0]} == {"best", "near"}
    means = {row.backbone: row.cells[1].values for row in table.rows}
    values = run.scores().query("domain == 'a' and backbone == 'best'")["value"]
    assert means["best"] == pytest.approx((values.mean(), values.std()))


def test_where_ties_cannot_be_decided_nothing_is_bold_and_the_caption_says_so(run: Run) -> None:
    """On c, the results of one backbone do not keep which images are right; its mean alone decides nothing."""
    [table] = score_tables(run.data, comparables(run.data))
    assert bold(table, 3) == set()
    assert table.bold.startswith(RULE)
    assert "on C," in table.bold
    assert "C" not in table.bold.removeprefix(RULE).replace("on C,", "")


def test_without_any_comparison_no_number_is_bold(tmp_path: Path) -> None:
    folder = write_hit_run(tmp_path, [*ACCURACY], normal_hits(ACCURACY), kept=lambda *_: False, datasets=("a",))
    data = Run(folder).data
    [table] = score_tables(data, comparables(data))
    assert bold(table, 1) == set()
    assert RULE not in table.bold
    assert "textbf" not in Run(folder).to_latex()


def test_a_backbone_that_was_trained_on_the_images_is_never_bold(run: Run) -> None:
    data = run.data
    trained = [replace(each, training_data=("a",)) if each.name == "best" else each for each in data.backbones]
    [table] = score_tables(replace(data, backbones=trained), comparables(data))
    assert bold(table, 1) == {"near"}
    assert bold(table, 2) == {"best", "near"}
    assert table.rows[0].cells[1].text.endswith("†")
    assert "†" in table.caption


def test_one_backbone_has_nothing_to_tie_with(tmp_path: Path) -> None:
    data = Run(write_hit_run(tmp_path, ["one"], normal_hits({"one": 0.5}), datasets=("a",))).data
    [table] = score_tables(data, comparables(data))
    assert (bold(table, 1), table.bold) == (set(), "")


def test_ties_are_those_among_the_backbones_that_may_be_best(run: Run) -> None:
    compared = comparables(run.data).every[0]
    assert best_and_ties(None, ["best"]) is None
    assert best_and_ties(compared, ["best", "unknown"]) is None
    assert best_and_ties(compared, ["best", "far"], ["best"]) == {"far"}
    assert best_and_ties(compared, ["best"], ["best"]) == set()


@pytest.mark.long_suite
def test_a_run_gives_latex_figures_and_references(run: Run, tmp_path: Path) -> None:
    latex = run.to_latex()
    assert latex.count("\\begin{table}") == 1
    assert latex.count("\\textbf{") == 4
    assert "\\label{tab:paper-knn}" in latex
    assert run.to_latex("paper-knn") == latex
    assert "Paired differences" in run.to_latex("comparison")
    assert run.to_bibtex().startswith("@misc{unseen,")
    assert "holm1979simple" in run.to_bibtex()
    figure = run.figure("comparison-paired-differences", path=tmp_path / "f.pdf")
    assert np.allclose(figure.get_size_inches()[0], 3.25)
    assert b"/Type3" not in (tmp_path / "f.pdf").read_bytes()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda run: run.figure("levls"), "comparison-paired-differences"),
        pytest.param(lambda run: run.to_latex("x"), "paper-knn", marks=pytest.mark.long_suite),
        (lambda run: run.figure("comparison-paired-differences", width="wide"), "column and page"),
        (lambda run: run.figure("comparison-paired-differences", path="f.html"), ".pdf"),
    ],
)  # fmt: skip
def test_wrong_names_are_told_with_the_right_ones(run: Run, call: object, told: str) -> None:
    with pytest.raises(UserError, match=told.replace(".", r"\.")):
        call(run)  # type: ignore[operator]
