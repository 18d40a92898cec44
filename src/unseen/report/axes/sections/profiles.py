"""Where each backbone is strong and weak."""

from unseen.report.axes.words import strong_and_weak
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.studies.axes.page_data import AxesPage


def build(page: AxesPage) -> Section:
    """A sentence for each backbone."""
    note = (
        "By rank among the backbones here, accuracy on seen concepts aside. Ranges of ranks, in brackets, are the 95% "
        "when numbers are drawn anew: over seeds and the models of the line on concepts, over episodes of few shots, "
        "over the models of the fit on shifts. Where there is none, the rank did not move or its uncertainty is not "
        "known."
    )
    return Section(
        "profiles", "Where each is strong and weak", menu="Strong and weak", by_backbone=True, note=note,
        facts={name: strong_and_weak(page.axes, name) for name in page.axes.backbones},
    )  # fmt: skip


SECTION = PageSection("axes", 50, build)
