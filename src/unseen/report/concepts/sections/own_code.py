"""Probes and metrics of the user's own, by domain."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.rows import metric_title, shots_order
from unseen.report.concepts.section_parts import domain_ticks, own_series
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section
from unseen.report.own_code import NOTE, code_table, own_metrics, own_probes


def build(context: ConceptContext) -> Section | None:
    """A figure for each metric that the user's probes have, and for each probe that the user's metrics are of."""
    data, summary = context.main, context.summary
    probes = {each.probe for each in own_probes(context.data.own_code)}
    metrics = {each.probe for each in own_metrics(context.data.own_code)}
    if not probes and not metrics:
        return None
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    own = summary["metric"].isin(metrics) | summary["probe"].isin(probes)
    figures = []
    for (probe, metric), part in summary[own].groupby(["probe", "metric"], sort=False):
        shots = max(part["shots"], key=shots_order)
        facts = context.data.metrics.get(metric)
        share = facts is None or facts.unit == "share"
        series = own_series(
            part[part["shots"] == shots], data.backbones, places, column="domain", scale=100 if share else 1
        )
        label = f"{metric_title(metric)}{' (%)' if share else ''}"
        samples = "" if shots == "all" else f" with {shots} samples per concept"
        figures.append(
            Figure(f"{probe}: {metric_title(metric)}{samples}", "Domain", label, series, domain_ticks(data.domains))
        )
    sentences = [f"{each.probe}: {each.settings.get('title', '')}." for each in own_probes(context.data.own_code)]
    return Section("own-code", "Your own code", sentences, figures, NOTE, [code_table(context.data.own_code)])


SECTION = PageSection("concepts", 150, build)
