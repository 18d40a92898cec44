"""The concepts of each level, with example images where there are some."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Gallery, Picture, Section


def build(context: ConceptContext) -> Section | None:
    """One gallery per domain."""
    galleries = [
        Gallery(domain.title, [Picture(each.png, [each.caption]) for each in domain.examples], domain.concepts)
        for domain in context.data.domains
        if domain.examples or domain.concepts
    ]
    title = "Concepts of each level" if context.has_levels else "Concepts"
    return Section("examples", title, menu="Concepts", galleries=galleries) if galleries else None


SECTION = PageSection("concepts", 210, build)
