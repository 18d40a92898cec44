"""OOD accuracy against accuracy on each ID test set, on the scale of the fit."""

from collections.abc import Iterator, Sequence

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.shifts.page_data import Line, OodPanel, ShiftPage
from unseen.report.shifts.parts import group_looks, named_models, ood_choice, page_scale, share_ticks

EXPECTED = "Against the accuracy expected from all ID test sets"


def build(page: ShiftPage) -> Section | None:
    """One figure per ID test set, and with several also one against the expected accuracy."""
    if not page.panels:
        return None
    figures = [
        Figure(f"Against {name}", name, "OOD accuracy", drawing="projection", data={"id": place})
        for place, name in enumerate(page.id_sets)
    ]
    figures += (
        [Figure(EXPECTED, "Expected accuracy", "OOD accuracy", drawing="projection")] if len(page.id_sets) > 1 else []
    )
    note = (
        f"Axes are {page.scale}s, labelled in percent. The solid line is the fit to this ID test set alone, with its "
        f"{page.level:.0%} interval over resamples of the models. Thin broken lines in the colour of a group are fits "
        "to that group alone; the dashed line marks equal accuracy. Filled points are models of the fit; open ones "
        "were only scored. The models with the highest and the lowest effective robustness have their names, where "
        "there is room."
    )
    return Section(
        "shifts", "OOD against ID accuracy", menu="Against ID", choices=[ood_choice(page)], figures=figures, note=note,
        row_groups=group_looks(page), exported=list(_exported(page)),
    )  # fmt: skip


def _exported(page: ShiftPage) -> Iterator[Figure]:
    for panel in page.panels:
        for place, name in enumerate(page.id_sets):
            x = [point.id_accuracy[place] for point in panel.points]
            yield _figure(page, panel, f"{panel.name} against {name}", name, x, panel.lines[place])
        if len(page.id_sets) > 1:
            x = [point.expected for point in panel.points]
            yield _figure(page, panel, f"{panel.name} against expected", "Expected accuracy", x, None)


def _figure(page: ShiftPage, panel: OodPanel, title: str, label: str, x: Sequence[float], line: Line | None) -> Figure:
    scale = page_scale(page)
    y = [point.accuracy for point in panel.points]
    at, heights = scale.forward(x).tolist(), scale.forward(y).tolist()
    ends = [min(*at, *heights), max(*at, *heights)]
    series = [Series("equal accuracy", ends, ends, mode="lines", dash="dash" if line else "solid")]
    if line:
        fitted = [line.weight * place + line.intercept for place in line.grid]
        series += [
            Series("", line.grid, line.low, mode="lines", dash="dot"),
            Series("", line.grid, line.high, mode="lines", dash="dot"),
            Series("fit", line.grid, fitted, "#1f2430", mode="lines"),
        ]
    named = named_models(panel.points)
    for group, colour, symbol in group_looks(page):
        for in_fit, symbols in ((True, symbol), (False, f"{symbol}-open")):
            own = [place for place, point in enumerate(panel.points) if point.group == group and point.in_fit == in_fit]
            if own:
                places, tops = [at[place] for place in own], [heights[place] for place in own]
                called = group if in_fit else f"{group}, only scored"
                labels = [name if (name := panel.points[place].model) in named else "" for place in own]
                series.append(
                    Series(called, places, tops, colour, strong=True, mode="markers", symbol=symbols, labels=labels)
                )
    return Figure(title, label, panel.name, series, share_ticks(x, scale), share_ticks(y, scale))


SECTION = PageSection("shifts", 10, build)
