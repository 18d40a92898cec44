"""Accuracy by the number of shots, one figure per domain."""

from math import log2

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.rows import main_row, metric_title, shots_order
from unseen.report.concepts.sections.levels import accuracy_line, error_bars, row_choices
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section


def build(context: ConceptContext) -> Section | None:
    """Where there are several numbers of shots."""
    rows = context.plotted
    shots = sorted({row.shots for row in rows}, key=shots_order)
    if len(shots) < 2:
        return None
    chosen = main_row(rows)
    places = [log2(int(name)) if name != "all" else log2(int(shots[-2])) + 1.5 for name in shots]
    ticks = tuple(zip(places, shots, strict=True))
    cells = {
        (row.backbone, row.domain, row.shots): row for row in rows
        if (row.setting, row.metric) == (chosen.setting, chosen.metric)
    }  # fmt: skip
    label = f"{metric_title(chosen.metric).capitalize()} (%)"
    figures = [
        Figure(
            domain.title, "Shots", label,
            [
                accuracy_line(b.name, places, [cells.get((b.name, domain.name, name)) for name in shots])
                for b in context.data.backbones
            ],
            ticks, drawing="few-shots", data={"domain": domain.name}, caption=error_bars(context),
        )
        for domain in context.data.domains
    ]  # fmt: skip
    note = (
        "Shots are training samples per concept, on a logarithmic axis with all samples at its end. The accuracy "
        f"axis is the same in each figure. {error_bars(context)}"
    )
    choices = row_choices(rows)
    return Section(
        "few-shots", "Few-shot curves", menu="Few shots", choices=choices, legend=True, figures=figures, note=note
    )


SECTION = PageSection("concepts", 20, build)
