"""OOD accuracy against two ID accuracies, in 3-D, with the fitted plane."""

from unseen.metrics.accuracy_scales import Scale
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.shifts.camera import Direction, plane_eye
from unseen.report.shifts.page_data import OodPanel, ShiftPage
from unseen.report.shifts.parts import group_looks, ood_choice, page_scale, share_ticks
from unseen.text.words import joined


def build(page: ShiftPage) -> Section | None:
    """The section for fits with two ID test sets."""
    if len(page.id_sets) != 2:
        return None
    note = (
        "OOD accuracy against both ID accuracies, with the fitted plane seen from a low angle, where the points and "
        "axes allow one, so that distances from it show. Thin lines lead from models to their expected accuracy. Drag "
        "to rotate. Open or pale points are models that were scored but not part of the fit."
    )
    return Section(
        "plane", "The plane", menu="Plane", choices=[ood_choice(page)], row_groups=group_looks(page), note=note,
        figures=[Figure("", joined(page.id_sets), "OOD accuracy", drawing="plane")],
        exported=[_figure(page, panel) for panel in page.panels],
    )  # fmt: skip


def _figure(page: ShiftPage, panel: OodPanel) -> Figure:
    scale = page_scale(page)
    ids = [scale.forward([point.id_accuracy[place] for point in panel.points]).tolist() for place in (0, 1)]
    z = scale.forward([point.accuracy for point in panel.points]).tolist()
    weights, intercept = list(panel.record["coefficients"].values()), panel.record["intercept"]
    corners = [(x, y) for x in (min(ids[0]), max(ids[0])) for y in (min(ids[1]), max(ids[1]))]
    heights = [weights[0] * x + weights[1] * y + intercept for x, y in corners]
    series = [Series("fit", [x for x, _ in corners], [y for _, y in corners], mode="lines", z=heights)]
    for name, colour, symbol in group_looks(page):
        own = [place for place, point in enumerate(panel.points) if point.group == name]
        x, y, top = ([values[place] for place in own] for values in (*ids, z))
        series.append(Series(name, x, y, colour, strong=True, mode="markers", symbol=symbol, z=top))
    across, along = (
        share_ticks([point.id_accuracy[place] for point in panel.points], scale) for place in (0, 1)
    )  # fmt: skip
    first, second = page.id_sets
    return Figure(
        panel.name, first, second, series, across, along, z_label=panel.name,
        z_ticks=share_ticks([point.accuracy for point in panel.points], scale),
        eye=panel_eye(panel, scale),
    )  # fmt: skip


def panel_eye(panel: OodPanel, scale: Scale) -> Direction:
    """Where the plane of a fit on two ID test sets is looked at from."""
    values = scale.forward([(*point.id_accuracy, point.accuracy) for point in panel.points])
    return plane_eye([*panel.record["coefficients"].values()], values)


SECTION = PageSection("shifts", 20, build)
