"""Sections of the task study's page with a plot for each data set against accuracy on ImageNet."""

from collections.abc import Sequence

from unseen.metrics.correlation import Correlation
from unseen.papers.transfer import FINETUNED, LINEAR
from unseen.report.core.sections import Plot, Section, Series
from unseen.report.tasks.sections import COLOURS, PUBLISHED, SELF_SUPERVISED, percent_ticks
from unseen.report.tasks.tables import CORRELATION_COLUMNS, Cell, Row, Table, coefficients, minus
from unseen.studies.tasks.page_data import AgainstImagenet, ImagenetPoint, TaskPage

TITLES = {LINEAR: "linear probes", FINETUNED: "fine-tuned"}


def imagenet_sections(page: TaskPage) -> list[Section]:
    """A section for each setting that a backbone with a known accuracy on ImageNet has."""
    return [_section(page, setting, plots) for setting, plots in _by_setting(page).items()]


def imagenet_tables(page: TaskPage) -> list[Table]:
    """Correlations with accuracy on ImageNet by data set: over the paper's models, and over those of the run."""
    tables = []
    for setting, parts in _by_setting(page).items():
        for who, found in (
            ("The paper's models", {part.title: part.published for part in parts}),
            ("Your backbones", {part.title: part.own for part in parts}),
        ):
            rows = [Row(title, [Cell(text) for text in coefficients(r)]) for title, r in found.items() if r]
            caption = f"{who}: accuracy on ImageNet with {_title(setting)} scores on each data set"
            tables.append(Table(_name(setting), caption, CORRELATION_COLUMNS, rows, kind="correlations"))
    return [table for table in tables if table.rows]


def _by_setting(page: TaskPage) -> dict[str, list[AgainstImagenet]]:
    found: dict[str, list[AgainstImagenet]] = {}
    for part in page.against_imagenet:
        found.setdefault(part.setting, []).append(part)
    return found


def _name(setting: str) -> str:
    return f"imagenet-{setting}"


def _title(setting: str) -> str:
    return TITLES.get(setting, setting)


def _section(page: TaskPage, setting: str, parts: Sequence[AgainstImagenet]) -> Section:
    note = (
        "A plot for each data set, as in the paper's Figs. 5 and 6; both axes are logits. A star is a backbone of this "
        "run: it needs its accuracy on ImageNet (--imagenet-top1), and no data set but the one of the plot. r is "
        "Pearson's over the paper's models, or over this run's where the paper prints no such scores."
    )
    plots = [_plot(page, part) for part in parts]
    return Section(_name(setting), f"ImageNet: {_title(setting)}", _sentences(parts), plots, note)


def _sentences(parts: Sequence[AgainstImagenet]) -> list[str]:
    """Where accuracy on ImageNet says most and least, over the paper's models."""
    known = {part.title: part.published.pearson for part in parts if part.published}
    if len(known) < 2:
        return []
    order = sorted(known, key=lambda title: known[title].value)
    most, least = (f"{title} ({minus(known[title].value)})" for title in (order[-1], order[0]))
    return [f"Over the paper's models, accuracy on ImageNet goes most closely with {most}, least with {least}."]


def _plot(page: TaskPage, part: AgainstImagenet) -> Plot:
    groups: dict[tuple[str, int], list[ImagenetPoint]] = {}
    for point in part.points:
        if point.published:
            groups.setdefault(PUBLISHED.get(point.backbone, SELF_SUPERVISED), []).append(point)
    series = [_series(group, points, colour, group) for (group, colour), points in groups.items()]
    for number, name in enumerate(page.backbones):
        own = [point for point in part.points if point.backbone == name and not point.published]
        if own:
            series.append(_series(name, own, number % COLOURS))
    x, y = ([getattr(point, axis) for point in part.points] for axis in ("x", "y"))
    return Plot(
        f"{part.title}{_r(part.published or part.own)}", "ImageNet (%)", "Score (%)", series,
        percent_ticks(x), percent_ticks(y),
    )  # fmt: skip


def _r(found: Correlation | None) -> str:
    return f" (r {minus(found.pearson.value)})" if found else ""


def _series(name: str, points: Sequence[ImagenetPoint], colour: int, group: str = "") -> Series:
    return Series(
        name, [point.x for point in points], [point.y for point in points], colour, group, strong=not group,
        mode="markers", symbol="circle" if group else "star",
        hover=[
            f"{point.backbone}: {100 * point.score:.2f}%, ImageNet {100 * point.top1:.1f}%" for point in points
        ],
    )  # fmt: skip
