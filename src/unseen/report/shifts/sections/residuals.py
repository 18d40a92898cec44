"""Effective robustness of every model."""

from unseen.report.core.discover import PageSection
from unseen.report.core.looks import COLOURS
from unseen.report.core.model import Figure, Section, Series
from unseen.report.shifts.page_data import OodPanel, ShiftPage
from unseen.report.shifts.parts import group_looks, ood_choice


def build(page: ShiftPage) -> Section | None:
    """One bar per model, from the lowest to the highest."""
    if not page.panels:
        return None
    striped = " Bars of groups with a mark other than a circle have stripes, one pattern per mark."
    note = (
        "Effective robustness ρ in points, from the lowest to the highest, with its interval: OOD accuracy minus the "
        "accuracy expected from the ID accuracies."
        f"{striped if len(page.groups) > len(COLOURS) else ''}"
    )
    return Section(
        "residuals", "Effective robustness of every model", menu="Robustness", choices=[ood_choice(page)], note=note,
        row_groups=group_looks(page), figures=[Figure("", "Models", "ρ (points)", drawing="bars")],
        exported=[_figure(page, panel) for panel in page.panels],
    )  # fmt: skip


def _figure(page: ShiftPage, panel: OodPanel) -> Figure:
    points = sorted(panel.points, key=lambda point: point.rho)
    series = []
    for name, colour, _ in group_looks(page):
        own = [(float(place), point) for place, point in enumerate(points) if point.group == name]
        x, y = [place for place, _ in own], [100 * point.rho for _, point in own]
        low, high = [100 * point.low for _, point in own], [100 * point.high for _, point in own]
        series.append(Series(name, x, y, colour, strong=True, mode="bars", low=low, high=high))
    ticks = tuple((float(place), point.model) for place, point in enumerate(points)) if len(points) <= 40 else ()
    return Figure(panel.name, "" if ticks else "Models", "ρ (points)", series, ticks, zero=True)


SECTION = PageSection("shifts", 40, build)
