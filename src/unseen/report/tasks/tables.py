"""Tables of the task study: one row per backbone; a score is bold only if an interval supports that it is higher."""

from collections.abc import Collection, Mapping, Sequence

from unseen.analyses.tasks.averages import CorrelationTable, Pair, setting_order
from unseen.analyses.tasks.data import OTHER
from unseen.analyses.tasks.scores import by_key
from unseen.metrics.correlation import Correlation
from unseen.metrics.leaders import clear_leader
from unseen.papers.dense_settings import is_headline
from unseen.papers.transfer import (
    ECE,
    FINETUNED,
    FINETUNED_ECE,
    FINETUNED_SCALED_ECE,
    LINEAR,
    SCALED_ECE,
    episode_shots,
    few_shot_setting,
    task_setting,
)
from unseen.report.core.metric_words import TRAINED_ON
from unseen.report.core.model import Cell, Column, Row, Table
from unseen.report.core.ties import RULE, best_and_ties
from unseen.report.tasks.page_data import TaskPage
from unseen.runs.score import Score
from unseen.runs.seed_means import deviation, seeds_text
from unseen.text.words import counted, joined

OVER_TEN = "mean of the paper's ten"
OVER_EPISODES = "95% interval over episodes, not over images"
CAPTIONS = {
    LINEAR: "Linear probe, each data set's own metric, percent",
    FINETUNED: "Fine-tuned, each data set's own metric, percent",
    ECE: "Expected calibration error in percent",
    SCALED_ECE: "Expected calibration error after temperature scaling, percent",
    FINETUNED_ECE: "Fine-tuned: expected calibration error in percent",
    FINETUNED_SCALED_ECE: "Fine-tuned: expected calibration error after temperature scaling, percent",
}
"""Captions of settings with all training images, in the order of the page."""
MANY_SHOT = (LINEAR, FINETUNED)
CALIBRATIONS = (ECE, SCALED_ECE, FINETUNED_ECE, FINETUNED_SCALED_ECE)
COEFFICIENTS = (
    Column("Pearson", names=("pearson",)),
    Column("95% interval", names=("low", "high")),
    Column("over resampled models", names=("drawn_low", "drawn_high")),
    Column("Spearman", names=("spearman",)),
    Column("95% interval", names=("spearman_low", "spearman_high")),
    Column("models"),
)


def score_tables(page: TaskPage, settings: Collection[str] | None = None) -> list[Table]:
    """One table per setting that the run has scores of, in percent.

    Args:
        settings: by default all of them.
    """
    every = settings if settings is not None else [*MANY_SHOT, *few_shot_settings(page), *calibration_settings(page)]
    return [table for setting in every if (table := _by_dataset(page, setting)).rows]


def few_shot_settings(page: TaskPage) -> list[str]:
    """The settings of accuracies with few shots: the paper's episodes, then other probes."""
    return [setting for setting in _own_settings(page) if _is_few_shot(setting)]


def calibration_settings(page: TaskPage) -> list[str]:
    """The settings of calibration errors: with all training images, then with few shots."""
    few = [setting for setting in _own_settings(page) if (parts := few_shot_setting(setting)) and parts.metric]
    return [*CALIBRATIONS, *few]


def _own_settings(page: TaskPage) -> list[str]:
    return sorted({task_setting(score) for score in page.scores if not score.published}, key=setting_order)


def _is_few_shot(setting: str) -> bool:
    parts = few_shot_setting(setting)
    return episode_shots(setting) is not None or (parts is not None and not parts.metric)


def text_of(cell: Cell) -> str:
    """The text of a cell for the terminal."""
    return f"{cell.text} {cell.small}".strip()


def _by_dataset(page: TaskPage, setting: str) -> Table:
    """One column per data set of the run; with one of the paper's, also the mean over the paper's ten."""
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    chosen = [score for score in page.scores if task_setting(score) == setting]
    scores = by_key(chosen, lambda score: (score.backbone, score.domain))
    own = [name for name in page.backbones if any((name, dataset) in scores for dataset in titles)]
    names = [name for name in titles if any((backbone, name) in scores for backbone in own)]
    in_paper = {dataset.name for dataset in page.datasets if dataset.family != OTHER}
    names += [""] if in_paper.intersection(names) and any(not domain for _, domain in scores) else []
    others = dict.fromkeys(score.backbone for score in scores.values() if score.published and score.domain in names)
    rows = [*own, *others] if own else []
    leaders = {
        column: leader(page, column, [scores[name, column] for name in rows if (name, column) in scores])
        for column in names
    }
    ties = {
        column: tied(page, column, [scores[name, column] for name in rows if (name, column) in scores])
        for column in names
    }
    own_data = [dataset.title for dataset in page.datasets if dataset.own and dataset.name in names]
    seeds = seeds_text(score for score in scores.values() if score.backbone in own and score.domain in names)
    caption = _caption(setting, seeds, published=bool(others))
    caption += f"; no published numbers for your data set{'s' if len(own_data) > 1 else ''}" if own_data else ""
    if any((name, column) in page.trained_on for name in own for column in names):
        caption += f"; {TRAINED_ON} trained on this data set"
    columns = [score_column(titles.get(name, OVER_TEN), name or "mean of ten") for name in names]
    return Table(
        setting, [Column(number=False, names=("backbone",)), *columns],
        [
            backbone_row(
                name,
                [
                    _cell(
                        scores.get((name, column)), leads=name == leaders[column], over_seeds=bool(seeds),
                        ties=name in (ties[column] or ()), trained_on=(name, column) in page.trained_on,
                    )
                    for column in names
                ],
                published=name in others,
            )
            for name in rows
        ],
        caption, head=True, bold=_bold({titles.get(name, OVER_TEN): ties[name] for name in names}) if rows[1:] else "",
    )  # fmt: skip


def _bold(ties: Mapping[str, frozenset[str] | None]) -> str:
    """What bold numbers of columns are, by their titles."""
    without = [title for title, of in ties.items() if of is None]
    if not without:
        return RULE
    alone = "number is bold only if it is above all others of its column beyond chance; ties with it are not decided."
    return f"A {alone}" if len(without) == len(ties) else f"{RULE} On {joined(without)}, a {alone}"


def _caption(setting: str, seeds: str, *, published: bool) -> str:
    """What a table shows, and what stands behind ±: a deviation over seeds, or an interval over episodes.

    Args:
        seeds: numbers of seeds of the run, in words; empty for one.
        published: whether the table has published rows.
    """
    spread = f"mean ± standard deviation over {seeds}" if seeds else ""
    shots = episode_shots(setting)
    if shots is not None:
        others = f"; published: {OVER_EPISODES}" if published else ""
        return f"5-way {shots}-shot, accuracy in percent, {f'{spread}{others}' if spread else OVER_EPISODES}"
    few = few_shot_setting(setting)
    if few is None:
        what = CAPTIONS[setting]
    else:
        probe = f"{'Linear probe' if few.probe == LINEAR else few.probe}, {counted(few.shots, 'shot')}"
        what = {
            "": f"{probe}, each data set's own metric, percent",
            ECE: f"{probe}: expected calibration error in percent",
            SCALED_ECE: f"{probe}: expected calibration error after temperature scaling, percent",
        }[few.metric]
    return f"{what}, {spread}" if spread else what


def score_column(title: str, name: str) -> Column:
    """A column of scores; in CSV, half the width of the interval is the next column."""
    return Column(title, names=(name, f"{name} ±"))


def backbone_row(name: str, cells: list[Cell], *, published: bool = False) -> Row:
    """The row of a backbone of the run, with its mark, or of a model of the paper."""
    if published:
        return Row([Cell(name), *cells], "published")
    return Row([Cell(name, look=True), *cells], backbone=name)


def leader(page: TaskPage, dataset: str, scores: Sequence[Score]) -> str | None:
    """The backbone whose score on a data set is above all others beyond chance; None if there is no such backbone.

    One that was trained on the data set never leads. Backbones of the run are compared on the same test images if their
    results keep them. Published models, and results that keep nothing, are compared by the number of test images.
    """
    first = _first(page, dataset, scores)
    return None if (first, dataset) in page.trained_on else first


def _first(page: TaskPage, dataset: str, scores: Sequence[Score]) -> str | None:
    images, winner = compared_images(page, dataset, scores), paired_winner(page, dataset, scores)
    if winner is None:
        return clear_leader({score.backbone: score.value for score in scores}, images)
    published = {score.backbone: score.value for score in scores if score.published}
    if not published:
        return winner or None
    others = {score.backbone: score.value for score in scores if not score.published and winner in ("", score.backbone)}
    first = clear_leader({**others, **published}, images)
    return first if first in (winner, *published) else None


def tied(page: TaskPage, dataset: str, scores: Sequence[Score]) -> frozenset[str] | None:
    """The backbones that share the first place on a data set; None where published models, or results that do not keep
    what is right of each image, do not allow to compare all on the same images.
    """
    if not scores or any(score.published for score in scores):
        return None if len(scores) > 1 else frozenset()
    names = [score.backbone for score in scores]
    compared = page.every.of(dataset, scores[0].probe, scores[0].shots)
    if compared is None or compared.metric.name != scores[0].metric:
        return None if len(scores) > 1 else frozenset()
    return best_and_ties(compared, names, [name for name in names if (name, dataset) in page.trained_on])


def paired_winner(page: TaskPage, dataset: str, scores: Sequence[Score]) -> str | None:
    """The backbone of the run that is resolved to be the best; empty if none is, None if they cannot be compared."""
    own = [score for score in scores if not score.published]
    compared = page.every.of(dataset, own[0].probe, own[0].shots) if len(own) > 1 else None
    if compared is None or {score.backbone for score in own} != {*compared.kept}:
        return None
    return compared.standings.winner or ""


def compared_images(page: TaskPage, dataset: str, scores: Sequence[Score]) -> int | None:
    """The number of test images behind scores, if it gives their differences an interval.

    Only top-1 accuracy on all test images has one: the intervals of few-shot scores are over episodes and do not cover
    the choice of images, and other metrics are not shares of images.
    """
    if any(score.metric != "top1" or score.shots is not None for score in scores):
        return None
    return next((each.test_images for each in page.datasets if each.name == dataset), None)


def _cell(score: Score | None, *, leads: bool, ties: bool, over_seeds: bool, trained_on: bool) -> Cell:
    if score is None:
        return Cell()
    half = deviation(score) if over_seeds and not score.published else score.half_width
    spread = "" if half is None else f"± {100 * half:.2f}"
    mark = TRAINED_ON if trained_on else ""
    return Cell(
        f"{100 * score.value:.2f}{mark}",
        (score.value, half),
        style="best" if leads else "tied" if ties else "",
        small=spread,
    )


def correlation_tables(table: CorrelationTable) -> list[Table]:
    """Correlations with accuracy on ImageNet, and Pearson's r between every two settings."""
    titles = {average.setting: average.title for average in table.averages}
    with_first = {titles[pair.second]: pair.correlation for pair in table.pairs if pair.first == "imagenet"}
    file = "yours" if table.title.lower().startswith("your") else "paper"
    beside = coefficient_table(f"imagenet-{file}", f"{table.title}: with accuracy on ImageNet", with_first)
    known = {(pair.first, pair.second): pair for pair in table.pairs}
    names = [name for name in titles if is_headline(name) and any(name in key for key in known)]
    rows = [
        Row(
            [
                Cell(titles[first]),
                *(_between(known.get((first, second)) or known.get((second, first))) for second in names),
            ]
        )
        for first in names
    ]
    matrix = Table(
        f"pearson-{file}", [Column(number=False, names=("setting",)), *(Column(titles[name]) for name in names)], rows,
        f"{table.title}: Pearson’s r between settings", head=True, kind="matrix",
    )  # fmt: skip
    return [each for each in (beside, matrix) if each.rows]


def coefficient_table(name: str, caption: str, found: Mapping[str, Correlation]) -> Table:
    """One row per title and correlation."""
    rows = [Row([Cell(title), *_coefficients(each)]) for title, each in found.items()]
    return Table(name, [Column(number=False, names=("name",)), *COEFFICIENTS], rows, caption, head=True)


def _coefficients(found: Correlation) -> list[Cell]:
    """The cells of the columns `COEFFICIENTS`."""
    ends = [
        Cell(f"{minus(each.low)} to {minus(each.high)}", (each.low, each.high)) if each else Cell()
        for each in (found.pearson, found.resampled, found.spearman)
    ]
    first, second = (Cell(minus(each.value), (each.value,)) for each in (found.pearson, found.spearman))
    return [first, ends[0], ends[1], second, ends[2], Cell(str(found.n))]


def _between(pair: Pair | None) -> Cell:
    if pair is None:
        return Cell("")
    value = pair.correlation.pearson.value
    return Cell(minus(value), (value,))


def minus(value: float) -> str:
    """A coefficient with two digits and a true minus sign."""
    return f"{value:.2f}".replace("-", "−")
