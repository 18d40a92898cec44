"""The section that answers which backbone to take: accuracy against cost, with the Pareto front."""

from collections.abc import Mapping, Sequence

from unseen.analyses.core.comparables import Comparables
from unseen.analyses.core.costs import AXES, LEAST_ALIKE, USUALLY_ALIKE, Axis, Choice, Placed, choice_of, machine_of
from unseen.analyses.core.rankings import Ranked
from unseen.features.costs import BackboneCost
from unseen.metrics.catalogue import Metric
from unseen.report.core import model
from unseen.report.core.compared import score_text
from unseen.report.core.cost_words import amount_text, choice_sentence, machine_text, value_text, why_unknown
from unseen.report.core.metric_words import metric_words, probe_words
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.report.core.ranking_words import by_text
from unseen.report.core.ticks import log_ticks
from unseen.runs.data import RunData
from unseen.text.words import joined

NAME = "choice"
TITLES: Mapping[Axis, str] = {"parameters": "Parameters", "multiply-adds": "Multiply-adds", "time": "Time"}
LABELS: Mapping[Axis, tuple[str, float]] = {
    "parameters": ("Parameters (millions)", 1e-6), "multiply-adds": ("Multiply-adds per image (billions)", 1e-9),
    "time": ("Milliseconds per image", 1e3),
}  # fmt: skip
"""The label of each cost, and what values are multiplied with."""


ZERO = 4
"""A cost of zero is drawn so many times to the left of the first tick of its logarithmic axis."""
MARGIN = 0.04
"""Share of the axis beyond its first and last tick."""


def choice_section(data: RunData, every: Comparables, drawn: frozenset[str]) -> Section | None:
    """The section of a run, with its sentence first; None if nothing is known of what backbones cost.

    Args:
        drawn: backbones that have a colour and a mark on the page.
    """
    choice = choice_of(data, every)
    titles = {domain.name: domain.title for domain in data.domains}
    return None if choice is None else section_of(choice, titles, drawn)


def section_of(choice: Choice, titles: Mapping[str, str], drawn: frozenset[str]) -> Section:
    """The section about one ranking."""
    figures = [_figure(choice, axis, titles, drawn) for axis in choice.axes] if len(choice.ranking.ranked) > 1 else []
    shown = [figure for figure in figures if figure is not None]
    options = [(axis, TITLES[axis]) for axis in AXES if (NAME, axis) in [figure.choice for figure in shown]]
    choices = [model.Choice("Cost", NAME, options, options[0][0], buttons=True)] if options else []
    table = _table(choice, titles, drawn)
    return Section(
        NAME, "Which one should I take?", [choice_sentence(choice, titles)], shown, _note(choice), [table],
        choices=choices, menu="Choice",
    )  # fmt: skip


def _table(choice: Choice, titles: Mapping[str, str], drawn: frozenset[str]) -> Table:
    """One row per backbone: what it is ranked by, what it costs, and whether another one makes it superfluous."""
    axes = choice.axes if len(choice.ranking.ranked) > 1 else ()
    placed = {axis: {each.backbone: each for each in choice.placed(axis)} for axis in axes}
    columns = [
        Column("Backbone", number=False, names=("backbone",)),
        Column("Score", by_text(choice.ranking, titles), names=("value", "value_low", "value_high")),
        Column("Tie group", "the order within a group is not resolved", names=("tie_group",)),
        Column("Parameters", "that the features depend on, each counted once", names=("parameters",)),
        Column("Multiply-adds", "of the forward pass of one image", names=("multiply_adds",)),
        Column("ms per image", "forward passes alone, without decoding", names=("ms_per_image",)),
        Column("Images per second", "forward passes alone, without decoding", names=("images_per_second",)),
        Column("Dimensions", "of the features", names=("dimensions",)),
        Column("Image size", "in pixels", names=("image_size",)),
        *(Column(f"By {TITLES[axis].lower()}", "dominated: another one that costs no more is resolved to be better",
                 number=False, names=(f"front_{axis.replace('-', '_')}",)) for axis in axes),
    ]  # fmt: skip
    rows = []
    for each in choice.ranking.entries:
        cost = choice.costs.get(each.backbone)
        cells = [
            Cell(each.backbone, (each.backbone,), style="model", look=each.backbone in drawn),
            _score_cell(each, choice.ranking.metric),
            Cell() if each.group is None else Cell(str(each.group), (each.group,)),
            *_amounts(cost, choice),
            *(_place(placed[axis].get(each.backbone), why_unknown(cost, axis)) for axis in axes),
        ]  # fmt: skip
        rows.append(Row(cells, backbone=each.backbone if each.backbone in drawn else ""))
    return Table("costs", columns, rows, "Cost of each backbone", sortable=True)


def _score_cell(each: Ranked, metric: Metric) -> Cell:
    if each.value is None:
        return Cell(about=each.reason)
    low, high = each.ends or (None, None)
    ends = "" if low is None or high is None else f"({score_text(metric, low)} to {score_text(metric, high)})"
    return Cell(score_text(metric, each.value), (each.value, low, high), small=ends)


def _amounts(cost: BackboneCost | None, choice: Choice) -> list[Cell]:
    known = cost or BackboneCost()
    speed, why = known.speed, why_unknown(cost, "time")
    measured = ""
    if speed is not None:
        measured = f"{machine_text(speed)}, {speed.images:,} images"
    here = choice.machine is not None and machine_of(speed) == choice.machine
    other = "" if speed is None or here else "together" if speed.together > 1 else "elsewhere"
    measured += f"; {why}" if other == "together" else ""

    def counted(value: int | None, axis: Axis) -> Cell:
        if value is None:
            return Cell(about=why_unknown(cost, axis))
        return Cell(amount_text(value), (value,), about=f"{value:,}")

    def plain(value: int | None) -> Cell:
        return Cell(about=why_unknown(cost, "parameters")) if value is None else Cell(f"{value:,}", (value,))

    return [
        counted(known.parameters, "parameters"), counted(known.multiply_adds, "multiply-adds"),
        *(
            [Cell(f"{1000 / speed.rate:.3g}", (1000 / speed.rate,), small=other, about=measured),
             Cell(amount_text(speed.rate), (speed.rate,), small=other, about=measured)]
            if speed else [Cell(about=why), Cell(about=why)]
        ),
        plain(known.dimension), plain(known.size),
    ]  # fmt: skip


def _place(placed: Placed | None, unknown: str) -> Cell:
    return (
        Cell(about=unknown) if placed is None else Cell(_short(placed), (_short(placed),), about=_status_text(placed))
    )


def _short(placed: Placed) -> str:
    words = {"front": "on the front", "tied": "front, lead not resolved", "open": "not resolved"}
    return f"dominated by {placed.against}" if placed.status == "dominated" else words[placed.status]


def _status_text(placed: Placed) -> str:
    """Whether the cost of a backbone buys anything."""
    return {
        "front": "on the front: better than all that cost less",
        "tied": f"on the front, but its lead over {placed.against}, which costs less, is not resolved",
        "open": f"behind {placed.against}, which costs no more, but this is not resolved",
        "dominated": f"dominated by {placed.against}, which costs no more and is resolved to be better",
    }[placed.status]


def _figure(choice: Choice, axis: Axis, titles: Mapping[str, str], drawn: frozenset[str]) -> Figure | None:
    """Accuracy against a cost on a logarithmic axis, with zero at its edge; None with fewer than two points."""
    metric, (label, unit) = choice.ranking.metric, LABELS[axis]
    values = {each.backbone: each for each in choice.ranking.ranked}
    placed = choice.placed(axis)
    costs = [unit * each.value for each in placed if each.value > 0]
    if len(placed) < 2 or not costs:
        return None
    ticks = log_ticks(costs)
    if len(costs) < len(placed):
        ticks = ((ticks[0][0] / ZERO, "0"), *ticks)
    ends = (ticks[0][0], ticks[-1][0])
    margin = (ends[1] / ends[0]) ** MARGIN
    at = {each.backbone: unit * each.value or ends[0] for each in placed}
    scale, share = (100, " (%)") if metric.unit == "share" else (1, "")
    scores = {name: scale * each.value for name, each in values.items() if each.value is not None}
    series = [_front(placed, scores, at)]
    for each in placed:
        own = values[each.backbone]
        assert own.value is not None, "it has a rank"
        low, high = own.ends or (None, None)
        text = f"{each.backbone}: {_score(metric, own.value)}, {value_text(axis, each.value)}; {_status_text(each)}"
        series.append(
            Series(
                "", [at[each.backbone]], [scale * own.value], mode="markers", strong=True,
                low=[] if low is None else [scale * low], high=[] if high is None else [scale * high], hover=[text],
                labels=[each.backbone], backbone=each.backbone if each.backbone in drawn else "",
                variant=int(each.status == "dominated"),
            )
        )  # fmt: skip
    names = {name for each in choice.ranking.by for name in [metric_words(choice.ranking.metrics[each].name)]}
    what = names.pop() if len(names) == 1 else "score"
    return Figure(
        f"Accuracy against cost: {TITLES[axis].lower()}", label,
        f"{'Mean ' if len(choice.ranking.by) > 1 else ''}{what}{share}", series, log_x=True,
        caption=f"Line: the Pareto front. Open marks: dominated by one that costs no more.{_undrawn(choice, axis)}",
        choice=(NAME, axis), x_ticks=ticks, x_range=(ends[0] / margin, ends[1] * margin),
    )  # fmt: skip


def _undrawn(choice: Choice, axis: Axis) -> str:
    """The backbones with a rank that have no place in the picture of a cost."""
    names = [each.backbone for each in choice.ranking.ranked if choice.value(each.backbone, axis) is None]
    return f" Not drawn, as this cost is not known or not compared: {joined(names)}" if names else ""


def _front(placed: Sequence[Placed], values: Mapping[str, float], at: Mapping[str, float]) -> Series:
    """The steps of the front: what the best score is up to each cost; `at` has the place of each on the axis."""
    x, y = list[float](), list[float | None]()
    for each in (each for each in placed if each.status in ("front", "tied")):
        value = values[each.backbone]
        x += [at[each.backbone]] * (2 if y else 1)
        y += [y[-1], value] if y else [value]
    return Series("", [*x, at[placed[-1].backbone]], [*y, y[-1]], mode="lines", solid=True)


def _score(metric: Metric, value: float) -> str:
    return f"{score_text(metric, value)}{'%' if metric.unit == 'share' else ''}"


def _note(choice: Choice) -> str:
    ranking, machine = choice.ranking, choice.machine
    by = f"Ranked by {probe_words(ranking.probe)}, as in the comparisons of this page. " if ranking.probe else ""
    counted = (
        "Parameters are those that the forward pass to the features reads; multiply-adds are those of its "
        "convolutions, matrix products and attention, for one image of the size used. What comes after the features, "
        "such as a classifier, is not counted. "
    )
    measured = (
        "Times are of forward passes during the extraction, without reading and decoding images "
        f"({machine_text(machine)}); times measured elsewhere are not compared. Two times count as equal up to a "
        f"factor of {LEAST_ALIKE}, or as far as those of single passes spread (the ratio of their quartiles; "
        f"{USUALLY_ALIKE} if the passes were too few). "
        if machine else ""
    )  # fmt: skip
    front = (
        "A backbone is dominated if one that costs no more is resolved to be better, by the same paired comparisons as "
        "the ranks; all others may be worth their cost. Bars are the 95% interval of each score by itself: differences "
        "of pairs may be resolved although bars overlap."
        if ranking.basis == "pairs"
        else "Without comparisons of pairs, none is called dominated."
        if ranking.basis == "scores"
        else ""
    )
    lacking = [
        f" {TITLES[axis]}: not drawn{text.removeprefix(' Not drawn')}."
        for axis in choice.axes
        if (text := _undrawn(choice, axis))
    ]
    return f"{by}{counted}{measured}{front}{''.join(lacking)}".strip()
