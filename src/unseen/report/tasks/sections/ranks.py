"""Ranks of each model as a radar chart (Fig. 7 of Ericsson et al. 2021)."""

from unseen.analyses.tasks.averages import spokes
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import PUBLISHED, SELF_SUPERVISED

LEAST_AXES = 3
"""Fewest settings of a radar chart."""


def build(page: TaskPage) -> Section | None:
    """One radar chart per backbone and published model, over its settings.

    Settings with a single backbone have no ranks.
    """
    compared = [average for average in spokes(page.averages) if len(average.values) > 1]
    names = dict.fromkeys([*page.backbones, *(name for average in compared for name in average.values)])
    figures = []
    for name in names:
        own = [average for average in compared if name in average.values]
        if len(own) < LEAST_AXES:
            continue
        ranks = [(page.ranks[average.setting][name], len(average.values)) for average in own]
        yours = name in page.backbones
        series = Series(
            name, [float(place) for place in range(len(own))], [(of - rank) / (of - 1) for rank, of in ranks],
            PUBLISHED.get(name, SELF_SUPERVISED)[1], strong=yours, backbone=name if yours else "",
            hover=[f"{average.title}: {rank} of {of}" for average, (rank, of) in zip(own, ranks, strict=True)],
        )  # fmt: skip
        ticks = tuple((float(place), average.title) for place, average in enumerate(own))
        figures.append(Figure(name, "", "", [series], ticks, polar=True))
    if not any(figure.series[0].strong for figure in figures):
        return None  # ranks of the paper's models alone are not about this run
    note = (
        "Each spoke is a setting, with the best rank at the rim and the worst in the centre: a larger area means "
        "better ranks. As in the paper’s Fig. 7, ranks are by average accuracy, not by means of logits, over the data "
        "sets that all models of a setting share. Few-shot episodes have 20 images per class; dense tasks are ranked "
        "by AP50, mean angle and mIoU. Calibration is not included. Ranks have no intervals: neighbouring ranks may "
        "differ by chance."
    )
    return Section("ranks", "Ranks", figures=figures, note=note)


SECTION = PageSection("tasks", 60, build)
