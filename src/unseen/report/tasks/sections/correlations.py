"""Every setting against accuracy on ImageNet."""

from unseen.analyses.tasks.averages import Average
from unseen.analyses.tasks.data import OTHER
from unseen.metrics.correlation import LEAST_DRAWN
from unseen.papers.dense_settings import is_headline
from unseen.papers.transfer import IMAGENET
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.ticks import percent_ticks
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import PUBLISHED, SELF_SUPERVISED
from unseen.report.tasks.tables import correlation_tables, minus


def build(page: TaskPage) -> Section | None:
    """Every setting against accuracy on ImageNet, over the models of the first table, on logit axes."""
    compared = any(probe.beside for task in page.dense for probe in task.probes)
    if not compared and all(dataset.family == OTHER for dataset in page.datasets):
        return None  # correlations of the paper's models on the paper's data sets are not about this run
    table = page.correlations[0]
    base = next((average for average in table.averages if average.setting == IMAGENET), None)
    if base is None:
        return None
    known = {pair.second: pair.correlation for pair in table.pairs if pair.first == IMAGENET}
    figures = [
        _scatter(page, base, average, f"{average.title} (r {minus(known[average.setting].pearson.value)})")
        for average in table.averages
        if average.setting in known and is_headline(average.setting)
    ]
    titles = {average.setting: average.title for average in table.averages}
    order = sorted(known, key=lambda name: known[name].pearson.value)
    ends = [
        f"{minus(r.value)} with {titles[name]} (95% interval {minus(r.low)} to {minus(r.high)}, {known[name].n} models)"
        for name, r in ((name, known[name].pearson) for name in dict.fromkeys((order[0], order[-1])))
    ]
    sentence = f"Pearson’s r of accuracy on ImageNet: {' to '.join(ends)}."
    note = (
        "Each value is the mean of logits over data sets; angles are not transformed, and their sign is flipped. Lower "
        "calibration errors are better, so a negative correlation with accuracy is desirable there. Intervals are by "
        f"Fisher's z; with {LEAST_DRAWN} models or more, those of Pearson's r are also given over resampled models."
    )
    tables = [table for each in page.correlations for table in correlation_tables(each)]
    return Section("correlations", "Against ImageNet", [sentence], figures, note, tables)


def _scatter(page: TaskPage, base: Average, average: Average, title: str) -> Figure:
    groups: dict[tuple[str, int], list[str]] = {}
    for name in average.values:
        if name in base.values:
            groups.setdefault(PUBLISHED.get(name, SELF_SUPERVISED), []).append(name)
    series = [
        Series(
            group, [base.values[name] for name in names], [average.values[name] for name in names], colour, group,
            mode="markers", hover=list(names),
        )
        for (group, colour), names in groups.items()
    ]  # fmt: skip
    shared = next((other for other in page.averages if other.setting == average.setting), None)
    top1 = next((other.values for other in page.averages if other.setting == IMAGENET), {})
    if shared is not None and list(shared.datasets) == list(average.datasets):
        for name in page.backbones:
            if name in shared.values and name in top1:
                series.append(
                    Series(
                        name, [top1[name]], [shared.values[name]], strong=True, mode="markers", hover=[name],
                        backbone=name,
                    )
                )  # fmt: skip
    x, y = ([value for line in series for value in getattr(line, axis)] for axis in ("x", "y"))
    return Figure(title, "ImageNet (%)", average.title, series, percent_ticks(x), percent_ticks(y))


SECTION = PageSection("tasks", 40, build)
