"""Accuracy by level: absolute, relative to a baseline, and as the drop from the seen concepts."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.rows import Row, main_row, metric_title, shots_order, unique
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Choice, Figure, Section, Series


def build(context: ConceptContext) -> Section | None:
    """The first section: what it shows first is the main row's metric, setting and shots."""
    if not context.plotted:
        return None
    data, rows, chosen = context.data, context.plotted, main_row(context.plotted)
    seeds = max(len(row.values) for row in rows)
    seen = any(domain.seen for domain in data.domains)
    off = [*(["relative"] if len(data.backbones) < 2 else []), *([] if seen else ["drop"])]
    modes = [("absolute", "Absolute"), ("relative", "Relative to baseline"), ("drop", "Drop from seen")]
    shots = sorted({row.shots for row in context.rows}, key=shots_order)
    means = (
        "Points are means over seeds; error bars are the standard deviation over seeds, of the differences seed by "
        "seed where differences are shown." if seeds > 1
        else "Points are of one seed, so that there are no error bars over seeds."
    )  # fmt: skip
    return Section(
        "levels", "Accuracy by level", menu="By level", legend=True,
        choices=[
            Choice("What is shown", "mode", modes, "absolute", off, buttons=True),
            Choice("Baseline", "baseline", [(b.name, b.name) for b in data.backbones], data.baseline),
            Choice("Shots", "shots", [(name, name) for name in shots], chosen.shots),
            *row_choices(rows),
        ],
        figures=[_figure(context, chosen)],
        note=f"{means} Choosing a baseline shows the differences from it.",
    )  # fmt: skip


def row_choices(rows: list[Row]) -> list[Choice]:
    """Which metric, and of which protocol and probe."""
    chosen = main_row(rows)
    metrics = [(name, metric_title(name)) for name in unique(row.metric for row in rows)]
    settings = [(name, name) for name in unique(row.setting for row in rows)]
    return [Choice("Metric", "metric", metrics, chosen.metric), Choice("Protocol", "setting", settings, chosen.setting)]


def _figure(context: ConceptContext, chosen: Row) -> Figure:
    domains = context.main.domains
    cells = {
        (row.backbone, row.domain): row for row in context.plotted
        if (row.setting, row.shots, row.metric) == (chosen.setting, chosen.shots, chosen.metric)
    }  # fmt: skip
    series = []
    for backbone in context.data.backbones:
        own = [cells.get((backbone.name, domain.name)) for domain in domains]
        series.append(accuracy_line(backbone.name, [float(place) for place in range(len(domains))], own))
    ticks = tuple((float(place), domain.title) for place, domain in enumerate(domains))
    label = f"{metric_title(chosen.metric).capitalize()} (%)"
    return Figure("", "Domain", label, series, ticks, drawing="levels")


def accuracy_line(backbone: str, places: list[float], rows: list[Row | None]) -> Series:
    """A backbone's accuracies in percent, with the deviation over seeds; None leaves a hole."""
    spread = [row.deviation if row else None for row in rows]
    ends = [
        [None if row is None or row.deviation is None else 100 * (row.mean + sign * row.deviation) for row in rows]
        for sign in (-1, 1)
    ]
    return Series(
        backbone, places, [100 * row.mean if row else None for row in rows], strong=True, backbone=backbone,
        low=ends[0] if any(spread) else (), high=ends[1] if any(spread) else (),
    )  # fmt: skip


SECTION = PageSection("concepts", 10, build)
