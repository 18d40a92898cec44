"""The table, the settings and the version of the fit."""

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.provenance import provenance_section
from unseen.report.shifts.page_data import ShiftPage


def build(page: ShiftPage) -> Section:
    """The last section."""
    return provenance_section(page.provenance)


SECTION = PageSection("shifts", 900, build)
