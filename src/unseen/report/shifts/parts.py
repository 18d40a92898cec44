"""Parts shared by the sections of the page of a fit."""

from collections.abc import Sequence

from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.metrics.accuracy_scales import LOGIT, PROBIT, Scale
from unseen.report.core.looks import COLOURS
from unseen.report.core.model import Choice, Ticks
from unseen.report.shifts.page_data import ShiftPage

SYMBOLS = ("circle", "square", "diamond", "cross", "x")
"""Symbols that Plotly has in 2-D and 3-D; with eight colours, 40 groups differ."""
NAMED = 3
"""Models with the highest ρ, and with the lowest, that figures name."""
FIRST = 8
"""Groups that also differ for colour-blind readers: of these, no two with similar colours have the same symbol."""
SHARES = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
APART = 0.08


def group_looks(page: ShiftPage) -> list[tuple[str, int, str]]:
    """Group, colour and symbol of the groups of a page."""
    return looks_of(page.groups)


def looks_of(groups: Sequence[str]) -> list[tuple[str, int, str]]:
    """Group, colour and symbol: both change with every group, and the colours repeat with other symbols."""
    return [
        (name, number % len(COLOURS), SYMBOLS[(number % len(COLOURS) + number // len(COLOURS)) % len(SYMBOLS)])
        for number, name in enumerate(groups)
    ]


def named_models(points: Sequence[FittedModel]) -> list[str]:
    """The models that figures name: those with the highest and the lowest ρ."""
    ordered = [point.model for point in sorted(points, key=lambda point: point.rho)]
    return [*dict.fromkeys((*ordered[:NAMED], *ordered[-NAMED:]))]


def ood_choice(page: ShiftPage) -> Choice:
    """The choice of the OOD test set that the figures show."""
    return Choice("OOD test set", "ood", [(str(place), panel.name) for place, panel in enumerate(page.panels)], "0")


def page_scale(page: ShiftPage) -> Scale:
    """The scale of axes."""
    return PROBIT if page.scale == "probit" else LOGIT


def share_ticks(shares: Sequence[float], scale: Scale) -> Ticks:
    """Round percentages within the range, not too close to each other; the ends of the range if fewer than two."""
    low, high = (float(end) for end in scale.forward([min(shares), max(shares)]))
    kept: list[tuple[float, str]] = []
    for share in SHARES:
        at = float(scale.forward(share))
        if low <= at <= high and (not kept or at - kept[-1][0] > APART * (high - low)):
            kept.append((at, f"{100 * share:g}%"))
    ends = sorted({(low, f"{100 * min(shares):.1f}%"), (high, f"{100 * max(shares):.1f}%")})
    return tuple(kept if len(kept) > 1 else ends)
