"""Tables of the task study: a row a backbone, the best and the second best of each column marked, as in the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from unseen.metrics.catalogue import METRICS
from unseen.metrics.correlation import Correlation
from unseen.papers.transfer import (
    ECE,
    FINETUNED,
    FINETUNED_ECE,
    FINETUNED_SCALED_ECE,
    LINEAR,
    SCALED_ECE,
    task_setting,
)
from unseen.runs.score import Score
from unseen.studies.tasks.page_data import OTHER, SHOTS, CorrelationTable, Pair, TaskPage

CORRELATION_COLUMNS = ("Pearson", "95% interval", "over draws of models", "Spearman", "95% interval", "models")
NO_FIT: dict[str, object] = {"penalty": None, "edge": None, "converged": None}


@dataclass(frozen=True)
class Cell:
    """A cell: `mark` is best, second or nothing."""

    text: str = "–"
    mark: str = ""


@dataclass(frozen=True)
class Row:
    """A row; `published` tells the paper's models from the user's backbones."""

    name: str
    cells: Sequence[Cell]
    published: bool = False


@dataclass(frozen=True)
class Table:
    """A table of the section it is named after: scores of backbones, or correlations."""

    section: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]
    kind: Literal["scores", "correlations"] = "scores"


def task_tables(page: TaskPage) -> list[Table]:
    """All tables, those without a cell left out."""
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    few = [
        _by_dataset(page, titles, f"{shots}-shot", "few-shot", f"5-way {shots}-shot, accuracy in percent, 95% interval")
        for shots in SHOTS
    ]
    calibration = (
        _by_dataset(page, titles, ECE, "calibration", "Expected calibration error in percent"),
        _by_dataset(page, titles, SCALED_ECE, "calibration", "The same after temperature scaling"),
        _by_dataset(page, titles, FINETUNED_ECE, "calibration", "Fine-tuned: expected calibration error in percent"),
        _by_dataset(page, titles, FINETUNED_SCALED_ECE, "calibration", "Fine-tuned: after temperature scaling"),
    )
    linear = _by_dataset(page, titles, LINEAR, "many-shot", "Linear probe, each data set's own metric, percent")
    tuned = _by_dataset(page, titles, FINETUNED, "many-shot", "Fine-tuned, each data set's own metric, percent")
    correlated = [table for each in page.correlations for table in correlation_tables(each)]
    return [table for table in (linear, tuned, *few, *calibration, *correlated) if table.rows]


def score_row(score: Score) -> dict[str, object]:
    """What a table for other programs has of a score."""
    named = {"backbone": score.backbone, "dataset": score.domain, "setting": task_setting(score)}
    return {**named, "metric": score.metric, "value": score.value, "low": score.low, "high": score.high}


def score_rows(page: TaskPage) -> list[dict[str, object]]:
    """The run's own scores as a table for other programs, and of those of a linear probe what its fit is worth.

    These are the penalty, the end of the grid that it is at, if any, and whether all fits reached their optimum. `low`
    and `high` are the ends of the 95% interval, empty where a score has none. The limit is that of a quick look at a
    part of the data set, empty for all of it.
    """
    fits = {(fit.backbone, fit.dataset): fit for fit in page.fits}
    limits = {dataset.name: dataset.limit for dataset in page.datasets}
    rows: list[dict[str, object]] = []
    for score in page.scores:
        if score.published:
            continue
        row = score_row(score)
        fit = fits.get((score.backbone, score.domain)) if row["setting"] in {LINEAR, ECE, SCALED_ECE} else None
        rested = {"penalty": fit.penalty, "edge": fit.edge, "converged": not fit.stopped} if fit else NO_FIT
        rows.append({**row, **rested, "limit": limits.get(score.domain)})
    return rows


def _by_dataset(page: TaskPage, titles: Mapping[str, str], setting: str, section: str, caption: str) -> Table:
    """The run's data sets as columns; with one of the paper's among them, also the means over the paper's ten."""
    scores = {(s.backbone, s.domain): s for s in page.scores if task_setting(s) == setting}
    own = [name for name in page.backbones if any((name, dataset) in scores for dataset in titles)]
    columns = [name for name in titles if any((backbone, name) in scores for backbone in own)]
    in_paper = {dataset.name for dataset in page.datasets if dataset.family != OTHER}
    columns += [""] if in_paper.intersection(columns) and any(not domain for _, domain in scores) else []
    others = dict.fromkeys(score.backbone for score in scores.values() if score.published and score.domain in columns)
    rows = [*own, *others] if own else []
    better = METRICS["ece" if setting.endswith("ece") else "top1"].higher_is_better
    found = {}
    for column in columns:
        values = {name: scores[name, column].value for name in rows if (name, column) in scores}
        for name, mark in best_two(values, higher_is_better=better).items():
            found[name, column] = mark
    return Table(
        section,
        caption,
        [titles.get(column, "mean of the paper's ten") for column in columns],
        [
            Row(
                name,
                [_cell(scores.get((name, column)), found.get((name, column), "")) for column in columns],
                name in others,
            )
            for name in rows
        ],
    )


def best_two(values: Mapping[str, float], *, higher_is_better: bool = True) -> dict[str, str]:
    """`best` and `second` by name; equal values share a mark. With one name there is nothing to mark."""
    if len(values) < 2:
        return {}
    order = sorted(set(values.values()), reverse=higher_is_better)
    words = dict(zip(order, ("best", "second"), strict=False))
    return {name: words[value] for name, value in values.items() if value in words}


def _cell(score: Score | None, mark: str) -> Cell:
    if score is None:
        return Cell()
    spread = "" if score.half_width is None else f" ± {100 * score.half_width:.2f}"
    return Cell(f"{100 * score.value:.2f}{spread}", mark)


def correlation_tables(table: CorrelationTable) -> list[Table]:
    """Coefficients with accuracy on ImageNet, and Pearson's between every two settings."""
    titles = {average.setting: average.title for average in table.averages}
    with_first = [pair for pair in table.pairs if pair.first == "imagenet"]
    rows = [Row(titles[pair.second], [Cell(text) for text in coefficients(pair.correlation)]) for pair in with_first]
    caption = f"{table.title}: with accuracy on ImageNet"
    beside = Table("correlations", caption, CORRELATION_COLUMNS, rows, kind="correlations")
    known = {(pair.first, pair.second): pair for pair in table.pairs}
    names = [name for name in titles if any(name in key for key in known)]
    matrix = Table(
        "correlations",
        f"{table.title}: Pearson’s between settings",
        [titles[name] for name in names],
        [
            Row(titles[first], [_between(known.get((first, second)) or known.get((second, first))) for second in names])
            for first in names
        ],
        kind="correlations",
    )
    return [beside, matrix]


def coefficients(found: Correlation) -> tuple[str, ...]:
    """What stands in `CORRELATION_COLUMNS`."""
    ends = [
        f"{minus(each.low)} to {minus(each.high)}" if each else "–"
        for each in (found.pearson, found.resampled, found.spearman)
    ]
    return minus(found.pearson.value), ends[0], ends[1], minus(found.spearman.value), ends[2], str(found.n)


def _between(pair: Pair | None) -> Cell:
    return Cell(minus(pair.correlation.pearson.value)) if pair else Cell("")


def minus(value: float) -> str:
    """A coefficient as it is printed."""
    return f"{value:.2f}".replace("-", "−")
