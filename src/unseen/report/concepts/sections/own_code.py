"""Probes and metrics of the user's own, by domain."""

from unseen.probes.own import OWN
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.rows import metric_title, shots_order
from unseen.report.concepts.section_parts import domain_ticks, first_few
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section
from unseen.report.core.model_lines import own_series
from unseen.report.core.own_code import NOTE, code_table, own_metrics

MOST_NAMED = 4
"""Backbones that a sentence names; the figure has all."""


def build(context: ConceptContext) -> Section | None:
    """A figure for each metric that the user's probes have, and for each probe that the user's metrics are of."""
    data, summary = context.main, context.summary
    metrics = {each.probe for each in own_metrics(context.data.own_code)}
    own = summary["metric"].isin(metrics) | (summary["protocol"] == OWN)
    if not own.any():
        return None
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    figures, sentences = list[Figure](), list[str]()
    for (probe, metric), part in summary[own].groupby(["probe", "metric"], sort=False):
        shots = max(part["shots"], key=shots_order)
        facts = context.data.metrics.get(metric)
        share = facts is None or facts.unit == "share"
        series = own_series(
            part[part["shots"] == shots], data.backbones, places, column="domain", scale=100 if share else 1
        )
        label = f"{metric_title(metric)}{' (%)' if share else ''}"
        samples = "" if shots == "all" else f" with {shots} samples per concept"
        title = f"{probe}: {metric_title(metric)}{samples}"
        figures.append(Figure(title, "Domain", label, series, domain_ticks(data.domains)))
        said = []
        for line in series[:MOST_NAMED]:
            ends = dict.fromkeys((0, len(line.y) - 1))
            values = [f"{line.y[end]:.1f}%" if share else f"{line.y[end]:.3f}" for end in ends]
            where = [data.domains[int(line.x[end])].title for end in ends]
            parts = [f"{value} on {domain}" for value, domain in zip(values, where, strict=True)]
            said.append(f"{line.name} has {' and '.join(parts)}")
        sentences.append(f"{probe}, {metric_title(metric)}{samples}: {'; '.join(said)}.")
    tables = [code_table(context.data.own_code)]
    return Section("own-code", "Your own code", first_few(sentences), figures, NOTE, tables)


SECTION = PageSection("concepts", 145, build)
