"""The page of a fit of effective robustness."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from unseen.report.core.discover import build_sections
from unseen.report.core.model import Page
from unseen.report.core.render import write_page
from unseen.report.shifts.findings import findings
from unseen.report.shifts.page_data import ShiftPage
from unseen.report.shifts.parts import group_looks, named_models, page_scale
from unseen.report.shifts.sections.plane import panel_eye
from unseen.text.words import counted


def write_shift_page(page: ShiftPage, path: Path) -> None:
    """Write the page of a fit."""
    write_page(shift_page(page), path)


def shift_page(page: ShiftPage) -> Page:
    """The page of a fit."""
    return Page(
        title=page.title,
        sections=build_sections("shifts", page),
        facts=_facts(page),
        notices=page.notes,
        findings=findings(page),
        scripts=["shifts.js"] if page.panels else [],
        data=_drawn(page),
    )


def _facts(page: ShiftPage) -> list[str]:
    facts = []
    if page.accuracies:
        facts = [
            counted(len(page.accuracies.data.backbones), "model"),
            counted(len(page.accuracies.columns), "column of accuracies"),
        ]
    if page.panels:
        facts += [
            f"{len(page.panels)} OOD test set{'s' if len(page.panels) > 1 else ''}",
            f"{len(page.id_sets)} ID test set{'s' if len(page.id_sets) > 1 else ''}",
            counted(len(page.groups), "group of models"),
        ]
    return facts


def _drawn(page: ShiftPage) -> dict[str, Any]:
    """The data that `shifts.js` draws."""
    panels = [
        {
            "name": panel.name,
            "weights": list(panel.record["coefficients"].values()),
            "intercept": panel.record["intercept"],
            "lines": [asdict(line) for line in panel.lines],
            "named": named_models(panel.points),
            "eye": panel_eye(panel, page_scale(page)) if len(page.id_sets) == 2 else None,
        }
        for panel in page.panels
    ]
    rows = [asdict(point) | {"domain": panel.name} for panel in page.panels for point in panel.points]
    groups = [{"name": name, "colour": colour, "symbol": symbol} for name, colour, symbol in group_looks(page)]
    return {"id_sets": page.id_sets, "scale": page.scale, "groups": groups, "panels": panels, "rows": rows}
