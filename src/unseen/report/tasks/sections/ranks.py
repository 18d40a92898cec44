"""Ranks of each model as a radar chart (Fig. 7 of Ericsson et al. 2021)."""

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.tasks.section_parts import PUBLISHED, SELF_SUPERVISED
from unseen.studies.tasks.analysis import spokes
from unseen.studies.tasks.page_data import TaskPage

LEAST_AXES = 3
"""Settings that a radar chart needs to be a figure with an inside."""


def build(page: TaskPage) -> Section | None:
    """A radar for the run's backbones and each published model, over the settings it has.

    Settings that only one backbone has tell nothing of ranks.
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
        return None  # ranks of the paper's models alone say nothing of this run
    note = (
        "Each spoke is a setting, with the best rank at the rim and the worst in the middle: a larger figure is better "
        "in more of them. As in the paper’s Fig. 7, ranks are by average accuracy, not by means of logits, here over "
        "the data sets that all models of a setting have: with 20 images a class where episodes are few-shot, by AP50, "
        "mean angle and mIoU for dense tasks; calibration is not among the spokes."
    )
    return Section("ranks", "Ranks", figures=figures, note=note)


SECTION = PageSection("tasks", 60, build)
