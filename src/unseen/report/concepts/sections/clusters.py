"""Agreement of k-means clusters with concepts, without labels (Figs. 8, 9 of the first version of ImageNet-CoG)."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.first_version import CLUSTERING, first_version, printed_note, printed_rows
from unseen.report.concepts.rows import shots_order
from unseen.report.concepts.section_parts import domain_ticks, title_of
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section
from unseen.report.core.model_lines import own_series, published_lines
from unseen.text.words import counted


def build(context: ConceptContext) -> Section | None:
    """Agreement of k-means clusters with concepts, without training on labels.

    With several settings of shots it is of the one with most training images; the table of scores has the others.
    """
    data, summary = context.main, context.summary
    table = summary[(summary["probe"] == "kmeans") & summary["metric"].isin([*CLUSTERING])]
    if table.empty:
        return None
    shots = max(set(table["shots"]), key=shots_order)
    table = table[table["shots"] == shots]
    metrics = [name for name in CLUSTERING if name in set(table["metric"])]
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    printed = first_version(data)
    printed = printed if shots == "all" else printed.iloc[:0]
    figures = []
    for name in metrics:
        scale = 100 if name == "purity" else 1
        own = own_series(table[table["metric"] == name], data.backbones, places, column="domain", scale=scale)
        behind = published_lines(printed_rows(printed, "kmeans", name), places, "domain", scale=scale)
        label = CLUSTERING[name]
        figures.append(Figure(label.removesuffix(" (%)"), "Domain", label, [*behind, *own], domain_ticks(data.domains)))
    cells = table[table["metric"] == metrics[0]].set_index(["backbone", "domain"])["mean"]
    # The other three are known by their letters alone, and have no unit.
    what = "a purity of {:.1%}" if metrics[0] == "purity" else f"an {CLUSTERING[metrics[0]]} of {{:.3f}}"
    ends = dict.fromkeys((data.domains[0].name, data.domains[-1].name))
    sentences = [
        f"Clusters of {backbone.name} have "
        + " and ".join(f"{what.format(cells[backbone.name, name])} on {title_of(data, name)}" for name in ends)
        + "."
        for backbone in data.backbones
        if all((backbone.name, name) in cells for name in ends)
    ]
    images = "" if shots == "all" else f" of {counted(int(shots), 'sample')} per concept"
    note = (
        f"k-means on the training features{images} with one cluster per concept; test images are assigned to these "
        "clusters."
    )
    return Section("clusters", "Clusters without labels", sentences, figures, note + printed_note(data, printed))


SECTION = PageSection("concepts", 120, build)
