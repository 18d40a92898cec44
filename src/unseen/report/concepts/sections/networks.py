"""MLPs instead of a linear probe (Fig. 6 and Table 3 of the first version of ImageNet-CoG)."""

from collections.abc import Mapping

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.first_version import first_version, printed_note, printed_rows
from unseen.report.concepts.section_parts import by_domain, domain_ticks, title_of
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.model_lines import published_lines
from unseen.runs.data import RunData
from unseen.text.words import signed

NETWORKS = {"mlp": "two hidden layers", "mlp-linear": "the same layers without activations"}
DASHES = {"mlp": "solid", "mlp-linear": "dash"}


def build(context: ConceptContext) -> Section | None:
    """What two hidden layers give, with activations and without, in percent of the regression's accuracy (Table 3).

    A backbone without scores of the regression on all samples has the difference between the two networks instead.
    """
    data, summary = context.main, context.summary
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    mean = table.pivot_table(index=["backbone", "domain"], columns="probe", values="mean")
    mean = mean.reindex(columns=[*NETWORKS, "logistic"])
    gains = 100 * mean.div(mean["logistic"].where(mean["logistic"] > 0), axis=0) - 100
    less = 100 * (mean["mlp"] - mean["mlp-linear"])
    printed = first_version(data)
    relative, differences, sentences = list[Series](), list[Series](), list[str]()
    for backbone in data.backbones:
        lines = {name: line for name in NETWORKS if (line := by_domain(data, gains[name], backbone.name))}
        for name, line in lines.items():
            relative.append(_network_line(data, backbone.name, line, "%", name))
        if lines:
            parts = [f"{NETWORKS[name]} {_ends(data, line, '%')}" for name, line in lines.items()]
            sentences.append(
                f"Relative to the accuracy of the linear probe, {backbone.name} gains with {'; with '.join(parts)}."
            )
        elif line := by_domain(data, less, backbone.name):
            differences.append(_network_line(data, backbone.name, line, " points"))
            sentences.append(
                f"For {backbone.name}, two hidden layers add {_ends(data, line, ' points')} over the same layers "
                f"without activations; this run has no scores of the linear probe with all samples to compare with."
            )
    ticks, figures, note = domain_ticks(data.domains), list[Figure](), ""
    if relative:
        places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
        behind = [
            line for name in NETWORKS for rows in [printed_rows(printed, name, "gain")]
            for line in published_lines(rows, places, "domain", dash=DASHES[name], what=name)
        ]  # fmt: skip
        label = "Relative to the linear probe (% of its accuracy)"
        title = "Relative to the linear probe" if differences else ""
        figures.append(Figure(title, "Domain", label, [*behind, *relative], ticks, zero=True))
        note = "Solid: two hidden layers with ReLU; dashed: the same layers without activations."
        note += printed_note(data, printed)
    if differences:
        label = "MLP minus the same MLP without activations (points)"
        title = "Without the linear probe" if relative else ""
        figures.append(Figure(title, "Domain", label, differences, ticks, zero=True))
    return Section("networks", "MLPs instead of a linear probe", sentences, figures, note) if figures else None


def _network_line(data: RunData, backbone: str, line: Mapping[str, float], unit: str, network: str = "") -> Series:
    name = f"{backbone}, {network}" if network else backbone
    places = [float(place) for place, domain in enumerate(data.domains) if domain.name in line]
    hover = [f"{name}, {title_of(data, domain)}: {signed(value)}{unit}" for domain, value in line.items()]
    variant = list(NETWORKS).index(network) if network else 0
    return Series(name, places, list(line.values()), strong=True, hover=hover, backbone=backbone, variant=variant)


def _ends(data: RunData, line: Mapping[str, float], unit: str) -> str:
    """The values on the first and on the last domain, in words."""
    first, *_, last = [*line, *line]  # of one, both are the same
    return " and ".join(
        f"{signed(line[name])}{unit} on {title_of(data, name)}" for name in dict.fromkeys((first, last))
    )


SECTION = PageSection("concepts", 110, build)
