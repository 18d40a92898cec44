"""Where the numbers are from, and how long the jobs took."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.provenance import provenance_section
from unseen.runs.data import RunData
from unseen.runs.provenance import provenance


def build(context: ConceptContext) -> Section:
    """The last section."""
    return provenance_section(provenance(context.data), _timings(context.data))


def _timings(data: RunData) -> dict[str, tuple[int, float]]:
    """Backbone → jobs and their seconds; the scores of one job name its time once each."""
    jobs: dict[str, dict[object, float]] = {backbone.name: {} for backbone in data.backbones}
    for s in data.scores:
        key = s.key or (s.study, s.protocol, s.domain, s.probe, s.shots, s.seed)
        jobs[s.backbone][key] = s.seconds
    return {name: (len(times), sum(times.values())) for name, times in jobs.items() if times}


SECTION = PageSection("concepts", 900, build)
