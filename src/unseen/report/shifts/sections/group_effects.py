"""Which groups of models are off the line of all others, and the smallest effect that so many models resolve."""

from collections.abc import Iterator, Sequence

from unseen.analyses.robustness.group_effects import GroupEffect
from unseen.analyses.robustness.groups import AVERAGE
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.report.shifts.page_data import ShiftPage
from unseen.text.words import counted, joined, signed

MOST_NAMED = 4
MOST_COLUMNS = 12
"""OOD test sets that have a column of their own."""
NOTE = (
    "Each group is compared with the line of all other groups: the mean of its accuracies minus those that the fit "
    "without its models predicts, in points, with 95% intervals. They contain the spread of its own models and how the "
    "line changes without any one of the other groups, but not the noise of the test images, which all models share. "
    "Groups of ordinary pools differ, and with enough models almost any group is off the line: ± is the standard "
    "deviation of the other groups around it, and only an effect beyond that is further off than groups usually are. "
    "Bold effects are resolved from 0 after Holm's correction over all groups, and over all OOD test sets except for "
    "averages. The smallest effect is the one that would be resolved with a power of 80%, at the level that this "
    "leaves for each."
)


def build(page: ShiftPage) -> Section | None:
    """The effects under all ID test sets and under each alone."""
    if not page.group_effects:
        return None
    choices = list(dict.fromkeys(each.id_sets for each in page.group_effects))
    by_choice = {ids: [each for each in page.group_effects if each.id_sets == ids] for ids in choices}
    shown = [each for each in by_choice[choices[0]] if each.ood == _main(by_choice[choices[0]])]
    return Section(
        "group-effects", "Groups against the line of the others", menu="Groups and lines", note=NOTE,
        sentences=[sentence for effects in by_choice.values() for sentence in statements(effects)],
        figures=[_figure(shown)], tables=[_table(page, by_choice)],
    )  # fmt: skip


def statements(effects: Sequence[GroupEffect]) -> Iterator[str]:
    """What is resolved under some ID test sets, and what could be."""
    if not effects:
        return
    on = f"Under {joined(effects[0].id_sets)}{' alone' if len(effects[0].id_sets) == 1 else ''}"
    main = _main(effects)
    where = "on average over the OOD test sets" if main == AVERAGE else f"on {main}"
    average = [each for each in effects if each.ood == main]
    found = sorted((each for each in average if each.resolved), key=lambda each: -abs(each.effect.value))
    many = sum(each.resolved for each in effects)
    if found:
        named = [
            f"{_name(each)} {signed(each.effect.value, 1)} (the other groups: ± {each.spread:.1f})"
            for each in found[:MOST_NAMED]
        ]
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        verb = "is" if len(found) == 1 else "are"
        told = (
            f"{len(found)} of {counted(len(average), 'group')} {verb} off the line of the others {where}, in points: "
        )
        told += f"{joined(named)}{more}"
    else:
        told = f"of {counted(len(average), 'group')}, none is resolved as off the line of the others {where}"
    verb = "is" if many == 1 else "are"
    yield f"{on}, {told}; of all {counted(len(effects), 'effect')}, {many} {verb} resolved."
    rest = sorted(each.smallest for each in average if not each.resolved)
    if rest:
        span = f"{rest[0]:.1f}" if len(rest) == 1 else f"{rest[0]:.1f} to {rest[-1]:.1f}"
        yield f"For the others, so many models resolve effects of at least {span} points, depending on the group."


def _main(effects: Sequence[GroupEffect]) -> str:
    """The average over OOD test sets; of a single one, that one."""
    return AVERAGE if any(each.ood == AVERAGE for each in effects) else effects[0].ood


def _name(effect: GroupEffect) -> str:
    return effect.group or "(no group)"


def _figure(effects: Sequence[GroupEffect]) -> Figure:
    """Effects with their intervals, the largest at the top."""
    ordered = sorted(effects, key=lambda each: each.effect.value)
    ends = [each.effect.interval() for each in ordered]
    places = [float(place) for place in range(len(ordered))]
    low, high = min(0.0, *(each.low for each in ends)), max(0.0, *(each.high for each in ends))
    edge = 0.03 * (high - low)
    top = len(ordered) - 0.5
    return Figure(
        "",
        "effect (points)",
        "",
        caption="Mean effective robustness under the line of all other groups",
        series=[
            Series("the line of the others", [0.0, 0.0], [-0.5, top], mode="lines", dash="dash"),
            Series(
                "95% interval",
                [x for each in ends for x in (each.low, each.high, each.high)],
                [y for place in places for y in (place, place, None)],
                mode="lines",
                solid=True,
            ),
            Series(
                "effect",
                [each.value for each in ends],
                places,
                0,
                mode="markers",
                hover=[f"{_name(each)}: {signed(each.effect.value, 2)}" for each in ordered],
            ),
        ],
        y_ticks=tuple((place, _name(each)) for place, each in zip(places, ordered, strict=True)),
        x_range=(low - edge, high + edge),
        y_range=(-0.5, top),
    )


def _table(page: ShiftPage, by_choice: dict[tuple[str, ...], list[GroupEffect]]) -> Table:
    """One row per ID test sets and group, one column per OOD test set, the average first."""
    every = [each.ood for effects in by_choice.values() for each in effects]
    oods = sorted(dict.fromkeys(every), key=lambda ood: ood != AVERAGE)[:MOST_COLUMNS]
    columns = [
        Column("Group", number=False), Column("ID test sets", number=False), Column("Models"),
        *(Column(ood.strip("()"), "points", names=(ood, f"{ood} low", f"{ood} high", f"{ood} p")) for ood in oods),
        Column("Smallest effect", f"points, {oods[0].strip('()')}"),
    ]  # fmt: skip
    rows = []
    for ids, effects in by_choice.items():
        for key in dict.fromkeys((each.group, each.in_fit) for each in effects):
            own = {each.ood: each for each in effects if (each.group, each.in_fit) == key}
            first = next(iter(own.values()))
            cells = [_cell(own.get(ood)) for ood in oods]
            smallest = own[oods[0]].smallest if oods[0] in own else None
            last = Cell() if smallest is None else Cell(f"{smallest:.1f}", (smallest,))
            rows.append(Row([Cell(_name(first)), Cell(" + ".join(ids)), Cell(str(first.models)), *cells, last]))
    return Table("group-effects", columns, rows, sortable=True, head=True, kind="wide")


def _cell(effect: GroupEffect | None) -> Cell:
    if effect is None:
        return Cell(values=(None,) * 4)
    found = effect.effect.interval()
    return Cell(
        signed(found.value, 1), (found.value, found.low, found.high, effect.p_holm),
        style="strong" if effect.resolved else "", small=f"({signed(found.low, 1)} to {signed(found.high, 1)})",
    )  # fmt: skip


SECTION = PageSection("shifts", 51, build)
