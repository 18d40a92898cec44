"""The page across axes: the same backbones on concepts, tasks and shifts."""

from unseen.analyses.axes.together import AXES
from unseen.report.axes.measures import axis_groups, drawn_measures
from unseen.report.axes.page_data import AxesPage
from unseen.report.axes.words import findings
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Backbone, Page
from unseen.text.words import counted

TITLE = "Across axes: concepts, tasks and shifts"


def axes_page(page: AxesPage) -> Page:
    """The page of the same backbones on several axes."""
    axes, published = page.axes, {model.name for model in page.models}
    groups = axis_groups(axes)
    return Page(
        title=TITLE,
        sections=build_sections("axes", page),
        facts=[
            counted(len(axes.backbones), "backbone"),
            *(f"{name}: {counted(count, 'measure')}" for name, count in groups),
            *(f"{AXES[axis]}: missing" for axis in axes.missing()),
        ],
        notices=page.notices,
        findings=findings(axes),
        backbones=[Backbone(name, published=name in published) for name in axes.backbones],
        follow=True,
        scripts=["axes.js"],
        data={"measures": drawn_measures(axes), "axes": groups},
    )
