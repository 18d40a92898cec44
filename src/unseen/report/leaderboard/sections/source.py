"""The source of the published numbers."""

from unseen.papers import TABLES
from unseen.papers.leaderboard import Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.provenance import provenance_section


def build(_: Leaderboard) -> Section:
    """The last section."""
    source = TABLES["cog-v2"]
    return provenance_section({"Published": f"{source.reference}. {source.link}"})


SECTION = PageSection("leaderboard", 900, build)
