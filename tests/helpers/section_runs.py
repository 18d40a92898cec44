"""Runs whose scores were chosen, for tests of sections."""

from collections.abc import Mapping
from dataclasses import replace

from unseen.papers import published
from unseen.papers.comparability import ScoredData, published_domain
from unseen.report.concepts.context import ConceptContext, complete
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Section
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.score import Score

DOMAINS = ["in1k", "l1", "l2", "l3", "l4", "l5"]
PUBLISHED = ("published", "ranks", "effective", "published-few-shots")
EXTENDED = ("dimensions", "networks", "clusters", "geometry")
Key = tuple[str, str, int | None, str]


def run(values: Mapping[Key, float], names: list[str] | None = None, **more: object) -> RunData:
    """A run from domain, probe, shots, metric → value, the same for two seeds a hundredth apart."""
    scores = [
        Score("concepts", "cog-v2", name, domain, probe, shots, seed, metric, value + 0.01 * (seed - 0.5))
        for name in names or ["mine"]
        for (domain, probe, shots, metric), value in values.items()
        for seed in (0, 1)
    ]
    used = [name for name in DOMAINS if name in {key[0] for key in values}]
    domains = [Domain(name, "IN-1K" if name == "in1k" else name.upper(), name == "in1k") for name in used]
    data = RunData("A run", scores, domains, [Backbone(name, "yours") for name in names or ["mine"]], "mine")
    data = replace(data, **more)  # type: ignore[arg-type]
    return data if "scored" in more else replace(data, scored=whole_data(data))


def whole_data(data: RunData) -> list[ScoredData]:
    """What the published numbers are of that a run has the domains of."""
    return [
        ScoredData(backbone.name, domain.name, "cog-v2", printed.classes, images, "given")
        for domain in data.domains
        if (printed := published_domain(data.published, domain.name))
        for images in [{part.splits[0]: part.images for part in printed.parts}]
        for backbone in data.backbones
    ]


def sections(data: RunData) -> list[Section]:
    """All sections of the page of a run."""
    return build_sections("concepts", ConceptContext(complete(data)))


def published_sections(data: RunData) -> list[Section]:
    """Those that set a run beside the published models."""
    return [section for section in sections(data) if section.name in PUBLISHED]


def extended_sections(data: RunData) -> list[Section]:
    """Those on the probes beside the regression."""
    return [section for section in sections(data) if section.name in EXTENDED]


def named(data: RunData, name: str) -> Section:
    """One section of the page of a run."""
    return next(section for section in sections(data) if section.name == name)


def like(model: str, more: float = 0.0) -> dict[Key, float]:
    """The published accuracies of a model, and some more."""
    table = published("cog-v2")
    rows = table[table["model"] == model].itertuples()
    return {
        (r.domain, "logistic", None if r.shots == "all" else int(r.shots), "top1"): r.mean / 100 + more for r in rows
    }
