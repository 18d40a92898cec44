"""Alignment and uniformity of features (Fig. 10 of the first version of ImageNet-CoG)."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import domain_ticks
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.model_lines import own_series

GEOMETRY = {"alignment": "Alignment (lower is closer)", "uniformity": "Uniformity (higher is more even)"}


def build(context: ConceptContext) -> Section | None:
    """Alignment and uniformity of test features by domain and against each other, and their ratio by domain."""
    data, summary = context.main, context.summary
    table = summary[summary["probe"] == "geometry"].drop_duplicates(["backbone", "domain", "metric"])
    wide = table.pivot_table(index=["backbone", "domain"], columns="metric", values="mean")
    if not set(GEOMETRY) <= set(wide.columns):
        return None
    titles = {domain.name: domain.title for domain in data.domains}
    places = {name: float(place) for place, name in enumerate(titles)}
    scatter, ratios, sentences = list[Series](), list[Series](), list[str]()
    for backbone in data.backbones:
        if (backbone.name, data.domains[0].name) not in wide.index:  # nothing to be relative to
            continue
        own = wide.loc[backbone.name].reindex([name for name in titles if (backbone.name, name) in wide.index])
        labels = [titles[name] for name in own.index]
        alignment, uniformity = own["alignment"].tolist(), own["uniformity"].tolist()
        hover = [
            f"{backbone.name}, {label}: alignment {a:.3f}, uniformity {u:.3f}"
            for label, a, u in zip(labels, alignment, uniformity, strict=True)
        ]
        scatter.append(Series(backbone.name, uniformity, alignment, strong=True, hover=hover, backbone=backbone.name))
        ratio = [a / u for a, u in zip(alignment, uniformity, strict=True)]
        relative = [value / ratio[0] for value in ratio]
        at = [places[name] for name in own.index]
        ratios.append(Series(backbone.name, at, relative, strong=True, backbone=backbone.name))
        if len(relative) > 1:
            sentences.append(
                f"For {backbone.name}, the ratio of alignment to uniformity on {labels[-1]} is {relative[-1]:.2f} "
                f"times that on {labels[0]}."
            )
    ticks = domain_ticks(data.domains)
    by_domain = {
        name: own_series(table[table["metric"] == name], data.backbones, places, column="domain", scale=1)
        for name in GEOMETRY
    }
    figures = [
        *(Figure(name.capitalize(), "Domain", GEOMETRY[name], lines, ticks) for name, lines in by_domain.items()),
        Figure("Alignment against uniformity", GEOMETRY["uniformity"], GEOMETRY["alignment"], scatter),
    ]
    if len(data.domains) > 1:
        figures.append(Figure("Their ratio", "Domain", f"Relative to {data.domains[0].title}", ratios, ticks))
    note = (
        "Alignment is the mean squared distance between test images of the same concept. Uniformity is minus the "
        "logarithm of the mean Gaussian potential over all pairs of images. Where they are plotted against each other, "
        "lines connect domains in order."
    )
    return Section("geometry", "Alignment and uniformity of features", sentences, figures, note)


SECTION = PageSection("concepts", 130, build)
