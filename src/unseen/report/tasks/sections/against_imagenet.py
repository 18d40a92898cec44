"""One figure per data set against accuracy on ImageNet (Figs. 5 and 6 of Ericsson et al. 2021)."""

from collections.abc import Sequence

from unseen.analyses.tasks.imagenet import AgainstImagenet, ImagenetPoint
from unseen.metrics.correlation import Correlation
from unseen.papers.dense_settings import DENSE_SETTINGS, dense_title
from unseen.papers.transfer import FINETUNED, LINEAR
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series, Table
from unseen.report.core.ticks import percent_ticks
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import PUBLISHED, SELF_SUPERVISED
from unseen.report.tasks.tables import coefficient_table, minus

FEWEST_POINTS = 3
TITLES = {LINEAR: "linear probes", FINETUNED: "fine-tuned"}


def build(page: TaskPage) -> list[Section]:
    """One section per setting with scores of a backbone with a known accuracy on ImageNet."""
    return [_section(page, setting, parts) for setting, parts in _by_setting(page).items()]


def _by_setting(page: TaskPage) -> dict[str, list[AgainstImagenet]]:
    found: dict[str, list[AgainstImagenet]] = {}
    for part in page.against_imagenet:
        # A few points show no relation, and the paper's models alone are not about this run.
        if len(part.points) < FEWEST_POINTS or all(point.published for point in part.points):
            continue
        found.setdefault(part.setting, []).append(part)
    return found


def _name(setting: str) -> str:
    return f"imagenet-{setting}"


def _title(setting: str) -> str:
    return dense_title(setting) if setting in DENSE_SETTINGS else TITLES.get(setting, setting)


def _section(page: TaskPage, setting: str, parts: Sequence[AgainstImagenet]) -> Section:
    note = (
        "One figure per data set, as in the paper's Figs. 5 and 6; both axes are logits. Large marks are backbones of "
        "this run with a known accuracy on ImageNet (backbone.imagenet-top1 in a study). r is Pearson's correlation "
        "over the paper's models, or over this run's backbones if the paper has no such scores."
    )
    figures = [_figure(page, part) for part in parts]
    title = f"ImageNet: {_title(setting)}"
    return Section(_name(setting), title, _sentences(parts), figures, note, _tables(setting, parts))


def _tables(setting: str, parts: Sequence[AgainstImagenet]) -> list[Table]:
    """Correlations with accuracy on ImageNet by data set, over the paper's models and over the run's backbones."""
    tables = []
    for name, who, found in (
        ("paper", "The paper's models", {part.title: part.published for part in parts}),
        ("yours", "Your backbones", {part.title: part.own for part in parts}),
    ):
        caption = f"{who}: accuracy on ImageNet with {_title(setting)} scores on each data set"
        known = {title: r for title, r in found.items() if r}
        tables += [coefficient_table(f"{_name(setting)}-{name}", caption, known)] if known else []
    return tables


def _sentences(parts: Sequence[AgainstImagenet]) -> list[str]:
    """The range of correlations with ImageNet over data sets, for the paper's models, with intervals of both ends."""
    known = {part.title: part.published.pearson for part in parts if part.published}
    if len(known) < 2:
        return []
    order = sorted(known, key=lambda title: known[title].value)
    least, most = (
        f"{minus(r.value)} for {title} (95% interval {minus(r.low)} to {minus(r.high)})"
        for title, r in ((title, known[title]) for title in (order[0], order[-1]))
    )
    return [f"Over the paper's models, the correlation with accuracy on ImageNet goes from {least} to {most}."]


def _figure(page: TaskPage, part: AgainstImagenet) -> Figure:
    groups: dict[tuple[str, int], list[ImagenetPoint]] = {}
    for point in part.points:
        if point.published:
            groups.setdefault(PUBLISHED.get(point.backbone, SELF_SUPERVISED), []).append(point)
    series = [_series(group, points, group, colour) for (group, colour), points in groups.items()]
    for name in page.backbones:
        own = [point for point in part.points if point.backbone == name and not point.published]
        if own:
            series.append(_series(name, own))
    x, y = ([getattr(point, axis) for point in part.points] for axis in ("x", "y"))
    return Figure(
        f"{part.title}{_r(part.published or part.own)}", "ImageNet (%)", f"{part.title} (%)", series,
        percent_ticks(x), percent_ticks(y),
    )  # fmt: skip


def _r(found: Correlation | None) -> str:
    return f" (r {minus(found.pearson.value)})" if found else ""


def _series(name: str, points: Sequence[ImagenetPoint], group: str = "", colour: int | None = None) -> Series:
    return Series(
        name, [point.x for point in points], [point.y for point in points], colour, group, strong=not group,
        mode="markers", backbone="" if group else name,
        hover=[
            f"{point.backbone}: {100 * point.score:.2f}%, ImageNet {100 * point.top1:.1f}%" for point in points
        ],
    )  # fmt: skip


SECTION = PageSection("tasks", 50, build)
