"""The strengths and weaknesses of each backbone."""

from unseen.report.axes.page_data import AxesPage
from unseen.report.axes.words import strong_and_weak
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section


def build(page: AxesPage) -> Section:
    """One sentence per backbone."""
    note = (
        "By rank among the backbones of this page; accuracy on seen concepts is not included. Ranges in brackets are "
        "95% intervals of ranks. Those with a tie group are from comparisons of all pairs on the same test images. "
        "Others are over resamples of seeds and fitted models for concepts, of few-shot episodes for tasks, of fitted "
        "models for shifts, and do not cover the choice of concepts and test images. Without a range, the rank is the "
        "only one in its range, or its uncertainty is unknown."
    )
    return Section(
        "profiles", "Strengths and weaknesses", menu="Strengths", by_backbone=True, note=note,
        facts={name: strong_and_weak(page.axes, name) for name in page.axes.backbones},
    )  # fmt: skip


SECTION = PageSection("axes", 50, build)
