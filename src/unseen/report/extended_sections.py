"""Sections on the probes beside the regression: fewer dimensions, networks on features, clusters, geometry.

Their counterparts in the first version of ImageNet-CoG (Sariyildiz et al., January 2021) are Figs. 5, 6, 8, 9 and 10.
"""

import pandas as pd

from unseen.report.run_data import RunData
from unseen.report.section_parts import COLOURS, domain_ticks, own_series, signed
from unseen.report.sections import Plot, Section, Series

CLUSTERING = {"purity": "Purity (%)", "ami": "AMI", "nmi": "NMI", "ari": "ARI"}
PCA = "pca-"


def extended_sections(data: RunData, summary: pd.DataFrame) -> list[Section]:
    """A section for each of those probes that the run has."""
    builders = (pca_section, network_section, cluster_section, geometry_section)
    return [section for builder in builders if (section := builder(data, summary))]


def pca_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Accuracy against the number of principal components, a plot for each domain."""
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    reduced = table[table["probe"].str.startswith(PCA)]
    if reduced.empty:
        return None
    sizes = sorted({int(name.removeprefix(PCA)) for name in reduced["probe"]})
    places = {f"{PCA}{size}": float(place) for place, size in enumerate(sizes)} | {"logistic": float(len(sizes))}
    ticks = (*((float(place), str(size)) for place, size in enumerate(sizes)), (float(len(sizes)), "all"))
    rows = table[table["probe"].isin(places)]
    plots = [
        Plot(
            domain.title, "Principal components", "Top-1 accuracy (%)",
            own_series(rows[rows["domain"] == domain.name], data.backbones, places, column="probe"), x_ticks=ticks,
        )
        for domain in data.domains
        if domain.name in set(reduced["domain"])
    ]  # fmt: skip
    sentences = [_pca_sentence(data, rows, backbone.name, sizes) for backbone in data.backbones]
    return Section(
        "dimensions", "With fewer dimensions", [text for text in sentences if text], plots,
        "Principal components of the unit-length training features, then the same regression; the last point has all "
        "dimensions. Bars are the deviation over seeds.",
    )  # fmt: skip


def _pca_sentence(data: RunData, rows: pd.DataFrame, backbone: str, sizes: list[int]) -> str:
    """How many components keep all but a point of the accuracy, on the first domain and on the last."""
    cells = rows[rows["backbone"] == backbone].set_index(["domain", "probe"])["mean"]
    parts = []
    for domain in (data.domains[0], data.domains[-1]):
        if (domain.name, "logistic") not in cells:
            return ""
        full = cells[domain.name, "logistic"]
        enough = [
            size for size in sizes
            if (domain.name, f"{PCA}{size}") in cells and full - cells[domain.name, f"{PCA}{size}"] < 0.01
        ]  # fmt: skip
        parts.append(
            f"{enough[0]} components on {domain.title}" if enough else f"more than {sizes[-1]} on {domain.title}"
        )
    return f"To keep all but a point of its accuracy, {backbone} needs {' and '.join(dict.fromkeys(parts))}."


def network_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """What two hidden layers add over the same network without activations, by domain."""
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    mean = table.pivot_table(index=["backbone", "domain"], columns="probe", values="mean")
    if not {"mlp", "linear-twin"} <= set(mean.columns):
        return None
    gains = (100 * (mean["mlp"] - mean["linear-twin"])).dropna()
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    series, sentences = [], []
    for number, backbone in enumerate(data.backbones):
        if backbone.name not in gains.index.get_level_values(0):
            continue
        own = gains[backbone.name]
        known = [name for name in places if name in own.index]
        values = [float(own[name]) for name in known]
        hover = [f"{backbone.name}, {name}: {signed(value)}" for name, value in zip(known, values, strict=True)]
        series.append(
            Series(backbone.name, [places[name] for name in known], values, number % COLOURS, strong=True, hover=hover)
        )
        sentences.append(
            f"For {backbone.name}, two hidden layers add {signed(values[0])} points on {_title(data, known[0])} and "
            f"{signed(values[-1])} on {_title(data, known[-1])} over the same layers without activations."
        )
    plot = Plot(
        "", "Domain", "MLP minus its linear twin (points)", series, x_ticks=domain_ticks(data.domains), zero=True
    )
    return Section("networks", "With a network instead of a line", sentences, [plot])


def cluster_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Agreement of k-means clusters with concepts, without training on labels."""
    table = summary[summary["probe"] == "k-means"]
    metrics = [name for name in CLUSTERING if name in set(table["metric"])]
    if not metrics:
        return None
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    plots = [
        Plot(
            CLUSTERING[name].removesuffix(" (%)"), "Domain", CLUSTERING[name],
            own_series(
                table[table["metric"] == name], data.backbones, places, column="domain",
                scale=100 if name == "purity" else 1,
            ),
            x_ticks=domain_ticks(data.domains),
        )
        for name in metrics
    ]  # fmt: skip
    sentences = []
    purity = table[table["metric"] == metrics[0]].set_index(["backbone", "domain"])["mean"]
    first, last = data.domains[0], data.domains[-1]
    for backbone in data.backbones:
        if (backbone.name, first.name) in purity and (backbone.name, last.name) in purity:
            start, end = purity[backbone.name, first.name], purity[backbone.name, last.name]
            sentences.append(
                f"Clusters of {backbone.name} have a {metrics[0]} of {100 * start:.1f}% on {first.title} and "
                f"{100 * end:.1f}% on {last.title}."
            )
    note = "k-means on the training features with as many clusters as concepts; test images are assigned to them."
    return Section("clusters", "Without labels: clusters", sentences, plots, note)


def geometry_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Alignment against uniformity of test features, and their ratio relative to the first domain's."""
    table = summary[summary["probe"] == "geometry"].drop_duplicates(["backbone", "domain", "metric"])
    wide = table.pivot_table(index=["backbone", "domain"], columns="metric", values="mean")
    if not {"alignment", "uniformity"} <= set(wide.columns):
        return None
    titles = {domain.name: domain.title for domain in data.domains}
    scatter, ratios, sentences = list[Series](), list[Series](), list[str]()
    for number, backbone in enumerate(data.backbones):
        if (backbone.name, data.domains[0].name) not in wide.index:  # nothing to be relative to
            continue
        own = wide.loc[backbone.name].reindex([name for name in titles if (backbone.name, name) in wide.index])
        labels = [titles[name] for name in own.index]
        alignment, uniformity = own["alignment"].tolist(), own["uniformity"].tolist()
        hover = [
            f"{backbone.name}, {label}: alignment {a:.3f}, uniformity {u:.3f}"
            for label, a, u in zip(labels, alignment, uniformity, strict=True)
        ]
        scatter.append(Series(backbone.name, uniformity, alignment, number % COLOURS, strong=True, hover=hover))
        ratio = [a / u for a, u in zip(alignment, uniformity, strict=True)]
        places = [float(list(titles).index(name)) for name in own.index]
        relative = [value / ratio[0] for value in ratio]
        ratios.append(Series(backbone.name, places, relative, number % COLOURS, strong=True))
        if len(relative) > 1:
            sentences.append(
                f"The ratio of alignment to uniformity of {backbone.name} is {relative[-1]:.2f} times on "
                f"{labels[-1]} what it is on {labels[0]}."
            )
    plots = [
        Plot(
            "Alignment against uniformity", "Uniformity (higher is more even)", "Alignment (lower is closer)", scatter
        ),
        Plot("Their ratio", "Domain", f"Relative to {data.domains[0].title}", ratios, domain_ticks(data.domains)),
    ]
    note = (
        "Alignment is the mean squared distance of test images of a concept, uniformity minus the logarithm of the "
        "mean Gaussian potential of all pairs; lines join domains in order."
    )
    return Section("geometry", "How features lie", sentences, plots, note)


def _title(data: RunData, name: str) -> str:
    return next(domain.title for domain in data.domains if domain.name == name)
