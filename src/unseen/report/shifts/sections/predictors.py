"""What predicts the accuracy of held-out models on OOD test sets."""

from collections.abc import Iterator

from unseen.analyses.robustness.predictor_words import resolved, statements
from unseen.analyses.robustness.predictors import PredictorScore, PredictorStudy
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.text.words import signed

MOST_ROWS = 600
FEWEST = 3
"""Rows with something to compare: two predictors, and none."""
COLUMNS = (
    Column("Predictor", number=False, names=("predictor",)),
    Column("Error", "points, on held-out models", names=("error", "error low", "error high")),
    Column("Difference", "from the first predictor, points", names=("difference", "low", "high", "p_holm")),
    Column("Scaled error", "on the scale of the fit", names=("scaled",)),
    Column("Models"),
    Column("Parts", "held out in turn"),
)
TEST_SET = Column("OOD test set", number=False, names=("ood",))


def build(page: ShiftPage) -> Section | None:
    """Errors of every predictor, on average and on each OOD test set, and what is resolved."""
    found = page.predictors
    if found is None or len(found.overall) < FEWEST:
        return None
    by = "one group of models at a time" if found.held_out == "groups" else "one model at a time"
    note = (
        f"Each predictor is fitted on {found.scale}s to all models but those held out, {by}, and predicts these. "
        "Errors are mean absolute errors in points of accuracy, with 95% intervals over the held-out parts. Bold "
        "differences are resolved from the first predictor after Holm's correction over all comparisons of the table. "
        "Agreement uses the predictions of all models without OOD labels, and severity mistakes on the first ID test "
        "set."
    )
    rows = [Row([*_cells(score)]) for score in found.overall]
    several = len(found.ood_sets) - 1
    title = f"Mean over {several} OOD test sets" if several else found.overall[0].ood
    tables = [Table("predictors", COLUMNS, rows, title, sortable=True, head=True)]
    every = [score for ood in found.ood_sets[:-1] for score in found.on(ood)]
    if every:
        shown = [Row([Cell(score.ood), *_cells(score)]) for score in every[:MOST_ROWS]]
        cut = f", the first {MOST_ROWS} of {len(every)} rows" if len(every) > MOST_ROWS else ""
        folded, columns = f"Every OOD test set{cut}", (TEST_SET, *COLUMNS)
        tables.append(Table("predictors-by-test-set", columns, shown, sortable=True, head=True, folded=folded))
    return Section(
        "predictors", "What predicts the accuracy of other models", menu="Predictors", note=note,
        sentences=[*statements(found), *found.notices, *_left_out(found)], figures=[error_figure(found)], tables=tables,
    )  # fmt: skip


def _left_out(found: PredictorStudy) -> Iterator[str]:
    if found.left_out:
        reasons = list(found.left_out.values())
        more = f" {len(reasons) - 3} more are left out." if len(reasons) > 3 else ""
        yield f"Left out: {'; '.join(reasons[:3])}.{more}"


def _cells(score: PredictorScore) -> Iterator[Cell]:
    error = score.error.interval()
    yield Cell(score.candidate.name)
    ends = f"({error.low:.2f} to {error.high:.2f})"
    yield Cell(f"{error.value:.2f}", (error.value, error.low, error.high), style="main", small=ends)
    if score.difference is None:
        yield Cell(values=(None,) * 4)
    else:
        apart = score.difference.interval()
        ends = f"({signed(apart.low, 2)} to {signed(apart.high, 2)})"
        values = (apart.value, apart.low, apart.high, score.p_holm)
        yield Cell(signed(apart.value, 2), values, style="strong" if resolved(score) else "", small=ends)
    yield Cell(f"{score.scaled:.3f}", (score.scaled,))
    fewest, most = score.models, score.most_models
    yield Cell(f"{fewest}–{most}" if most > fewest else f"{fewest}", (fewest,))
    yield Cell(str(score.groups))


def error_figure(found: PredictorStudy) -> Figure:
    """The errors of all predictors with their intervals, the best at the top."""
    scores = sorted(found.overall, key=lambda score: -score.error.value)
    ends = [score.error.interval() for score in scores]
    places = [float(place) for place in range(len(scores))]
    intervals = [(max(each.low, 0.0), each.high) for each in ends]
    return Figure(
        "", "error on held-out models (points)", "",
        caption="Mean absolute errors on held-out models, with 95% intervals",
        series=[
            Series(
                "95% interval", [x for pair in intervals for x in (*pair, pair[1])],
                [y for place in places for y in (place, place, None)], mode="lines", solid=True,
            ),
            Series(
                "error", [each.value for each in ends], places, 0, mode="markers",
                hover=[f"{score.candidate.name}: {score.error.value:.2f}" for score in scores],
            ),
        ],
        y_ticks=tuple((place, score.candidate.name) for place, score in zip(places, scores, strict=True)),
        y_range=(-0.5, len(scores) - 0.5),
    )  # fmt: skip


SECTION = PageSection("shifts", 52, build)
