"""Effective robustness of every model."""

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.shifts.page_data import OodPanel, ShiftPage
from unseen.report.shifts.parts import group_looks, ood_choice


def build(page: ShiftPage) -> Section | None:
    """One point per model, from the lowest to the highest."""
    if not page.panels:
        return None
    note = (
        f"Effective robustness ρ in points, from the lowest to the highest, with its {page.level:.0%} interval: OOD "
        "accuracy minus the accuracy expected from the ID accuracies. Open points are models that were only scored."
    )
    return Section(
        "residuals", "Effective robustness of every model", menu="Robustness", choices=[ood_choice(page)], note=note,
        row_groups=group_looks(page), figures=[Figure("", "Models", "ρ (points)", drawing="residuals")],
        exported=[_figure(page, panel) for panel in page.panels],
    )  # fmt: skip


def _figure(page: ShiftPage, panel: OodPanel) -> Figure:
    points = sorted(panel.points, key=lambda point: point.rho)
    series = []
    for name, colour, symbol in group_looks(page):
        for in_fit, mark in ((True, symbol), (False, f"{symbol}-open")):
            own = [(place, each) for place, each in enumerate(points) if (each.group, each.in_fit) == (name, in_fit)]
            if own:
                x, y = [float(place) for place, _ in own], [100 * point.rho for _, point in own]
                low, high = [100 * point.low for _, point in own], [100 * point.high for _, point in own]
                called = name if in_fit else f"{name}, only scored"
                series.append(
                    Series(called, x, y, colour, strong=True, mode="markers", symbol=mark, low=low, high=high)
                )
    ticks = tuple((float(place), point.model) for place, point in enumerate(points)) if len(points) <= 40 else ()
    return Figure(panel.name, "" if ticks else "Models", "ρ (points)", series, ticks, zero=True)


SECTION = PageSection("shifts", 30, build)
