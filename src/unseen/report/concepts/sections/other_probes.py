"""Accuracy by domain of every probe that has no section of its own."""

from unseen.probes.own import OWN
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.first_version import PCA
from unseen.report.concepts.section_parts import by_domain, domain_ticks, title_of
from unseen.report.concepts.sections.networks import NETWORKS
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section
from unseen.report.core.model_lines import own_series


def build(context: ConceptContext) -> Section | None:
    """One figure per probe and number of shots."""
    data, summary = context.main, context.summary
    accuracy = summary[summary["metric"] == "top1"]
    probes = accuracy["probe"]
    shown = probes.isin(["logistic", "fine-tuned", *NETWORKS]) | probes.str.startswith(PCA)
    table = accuracy[~shown & (accuracy["protocol"] != OWN)]
    if table.empty or probes.nunique() == 1:  # the only probe is in the first section
        return None
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    figures, sentences = list[Figure](), list[str]()
    for (probe, shots), part in table.groupby(["probe", "shots"], sort=False):
        name = probe if shots == "all" else f"{probe}, {shots} samples per class"
        lines = own_series(part, data.backbones, places, column="domain")
        figures.append(Figure(name, "Domain", "Top-1 accuracy (%)", lines, domain_ticks(data.domains)))
        mean = part.set_index(["backbone", "domain"])["mean"]
        for backbone in data.backbones:
            line = by_domain(data, mean, backbone.name)
            ends = dict.fromkeys([*list(line)[:1], *list(line)[-1:]])
            values = " and ".join(f"{line[domain]:.1%} on {title_of(data, domain)}" for domain in ends)
            sentences += [f"With {name}, {backbone.name} has {values}."] if values else []
    note = (
        "Each probe is fitted to the training features of a domain. Error bars are the standard deviation over seeds."
    )
    return Section("other-probes", "Other probes", sentences, figures, note)


SECTION = PageSection("concepts", 140, build)
