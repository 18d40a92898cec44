"""The sources of the numbers, and how long the jobs took."""

from unseen.papers import TABLES
from unseen.papers.transfer import SOURCE
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.provenance import provenance_section
from unseen.report.tasks.page_data import TaskPage


def build(page: TaskPage) -> Section:
    """The last section."""
    published = {"Published": f"{TABLES[SOURCE].reference}. {TABLES[SOURCE].link}"}
    return provenance_section({**page.provenance, **published}, page.timings)


SECTION = PageSection("tasks", 900, build)
