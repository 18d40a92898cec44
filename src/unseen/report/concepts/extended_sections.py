"""Sections on the probes beside the regression: fewer dimensions, networks on features, clusters, geometry.

Their counterparts in the first version of ImageNet-CoG (Sariyildiz et al., January 2021) are Figs. 5, 6, 8, 9 and 10.
"""

from collections.abc import Mapping

import pandas as pd

from unseen.papers import cog_models, published
from unseen.papers.concept_generalization import DOMAINS, SEEN
from unseen.report.concepts.published_sections import published_lines
from unseen.report.concepts.section_parts import YOURS, domain_ticks, own_colour, own_series
from unseen.report.core.sections import Plot, Section, Series
from unseen.runs.data import RunData
from unseen.words import signed

CLUSTERING = {"purity": "Purity (%)", "ami": "AMI", "nmi": "NMI", "ari": "ARI"}
GEOMETRY = {"alignment": "Alignment (lower is closer)", "uniformity": "Uniformity (higher is more even)"}
NETWORKS = {"mlp": "two hidden layers", "mlp-linear": "the same layers without activations"}
DASHES = {"mlp": "solid", "mlp-linear": "dash"}
PCA = "pca-"
PRINTED = {"cog-v1": DOMAINS, "cog-v2": (SEEN,)}
"""Whose levels a run has → domains of the same concepts in the first version."""


def extended_sections(data: RunData, summary: pd.DataFrame) -> list[Section]:
    """A section for each of those probes that the run has."""
    builders = (pca_section, network_section, cluster_section, geometry_section, other_section)
    return [section for builder in builders if (section := builder(data, summary))]


def _first_version(data: RunData) -> pd.DataFrame:
    """What the paper's first version printed for the domains that a run shares with it, with all samples.

    Columns: model, category, domain, probe (as runs name it), metric, mean (shares; `gain` is one of the regression's
    accuracy).
    """
    table = published("cog-v1").merge(cog_models()[["model", "category"]], on="model")
    other = {domain for (_, domain), verdict in data.comparisons.items() if not verdict.allowed}
    shared = {domain.name for domain in data.domains} & set(PRINTED.get(data.published, ())) - other
    table = table[table["domain"].isin(shared) & (table["shots"] == "all")]
    reduced = PCA + table["components"].astype("string")
    return table.assign(
        probe=table["probe"].where(table["components"].isna(), reduced),
        mean=table["value"].where(table["metric"].isin(CLUSTERING), table["value"] / 100),
    ).drop_duplicates(["model", "domain", "probe", "metric"])  # its tables repeat each other


def _rows(printed: pd.DataFrame, probe: str, metric: str) -> pd.DataFrame:
    return printed[(printed["probe"] == probe) & (printed["metric"] == metric)]


def _printed_note(data: RunData, printed: pd.DataFrame) -> str:
    """Whose the thin lines are, as a sentence to append; empty where there are none."""
    if printed.empty:
        return ""
    thin, where = "Thin lines", ""
    if data.published != "cog-v1":
        thin, where = "Thin lines or small points", " on IN-1K alone, as its levels are of other concepts"
    return (
        f" {thin}, in the colours of their categories, are the seven models of the paper's first version{where}; it "
        f"does not print deviations."
    )


def pca_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Accuracy against the number of principal components, a plot for each domain."""
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    reduced = table[table["probe"].str.startswith(PCA)]
    if reduced.empty:
        return None
    sizes = sorted({int(name.removeprefix(PCA)) for name in reduced["probe"]})
    places = {f"{PCA}{size}": float(place) for place, size in enumerate(sizes)} | {"logistic": float(len(sizes))}
    ticks = (*((float(place), str(size)) for place, size in enumerate(sizes)), (float(len(sizes)), "all"))
    rows, printed = table[table["probe"].isin(places)], _first_version(data)
    first = YOURS if len(printed) else 0
    plots = []
    for domain in data.domains:
        if domain.name not in set(reduced["domain"]):
            continue
        behind = printed[(printed["domain"] == domain.name) & (printed["metric"] == "top1")]
        mine = rows[rows["domain"] == domain.name]
        own = own_series(mine, data.backbones, places, column="probe", first=first)
        lines = [*published_lines(behind, places, "probe"), *own]
        plots.append(Plot(domain.title, "Principal components", "Top-1 accuracy (%)", lines, x_ticks=ticks))
    sentences = [_pca_sentence(data, rows, backbone.name, sizes) for backbone in data.backbones]
    return Section(
        "dimensions", "With fewer dimensions", [text for text in sentences if text], plots,
        "Principal components of the unit-length training features, then the same regression; the last point has all "
        f"dimensions. Bars are the deviation over seeds.{_printed_note(data, printed)}",
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
    """What two hidden layers give, with activations and without, in percent of the regression's accuracy (Table 3).

    A backbone without scores of the regression on all samples has the difference between the two networks instead.
    """
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    mean = table.pivot_table(index=["backbone", "domain"], columns="probe", values="mean")
    mean = mean.reindex(columns=[*NETWORKS, "logistic"])
    gains = 100 * mean.div(mean["logistic"].where(mean["logistic"] > 0), axis=0) - 100
    less = 100 * (mean["mlp"] - mean["mlp-linear"])
    printed = _first_version(data)
    first = YOURS if len(printed) else 0
    relative, differences, sentences = list[Series](), list[Series](), list[str]()
    for number, backbone in enumerate(data.backbones):
        colour = own_colour(number, first)
        lines = {name: line for name in NETWORKS if (line := _by_domain(data, gains[name], backbone.name))}
        for name, line in lines.items():
            relative.append(_network_line(data, f"{backbone.name}, {name}", line, colour, DASHES[name], "%"))
        if lines:
            parts = [f"{NETWORKS[name]} {_ends(data, line, '%')}" for name, line in lines.items()]
            sentences.append(
                f"In percent of the accuracy of the regression, {backbone.name} gains with {'; with '.join(parts)}."
            )
        elif line := _by_domain(data, less, backbone.name):
            differences.append(_network_line(data, backbone.name, line, colour, "solid", " points"))
            sentences.append(
                f"For {backbone.name}, two hidden layers add {_ends(data, line, ' points')} over the same layers "
                f"without activations; there are no scores of the regression on all samples to be relative to."
            )
    ticks, plots, note = domain_ticks(data.domains), list[Plot](), ""
    if relative:
        places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
        behind = [
            line for name in NETWORKS
            for line in published_lines(_rows(printed, name, "gain"), places, "domain", dash=DASHES[name], what=name)
        ]  # fmt: skip
        label = "Relative to the regression (% of its accuracy)"
        title = "Relative to the regression" if differences else ""
        plots.append(Plot(title, "Domain", label, [*behind, *relative], ticks, zero=True))
        note = "Solid: two hidden layers with ReLU; dashed: the same layers without activations."
        note += _printed_note(data, printed)
    if differences:
        label = "MLP minus its linear twin (points)"
        title = "Without the regression" if relative else ""
        plots.append(Plot(title, "Domain", label, differences, ticks, zero=True))
    return Section("networks", "With a network instead of a line", sentences, plots, note) if plots else None


def _by_domain(data: RunData, column: "pd.Series[float]", backbone: str) -> dict[str, float]:
    """Domain → value of a backbone, for the domains that have one, in order; `column` is by backbone and domain."""
    known = column.dropna()
    return {d.name: float(known[backbone, d.name]) for d in data.domains if (backbone, d.name) in known.index}


def _network_line(data: RunData, name: str, line: Mapping[str, float], colour: int, dash: str, unit: str) -> Series:
    places = [float(place) for place, domain in enumerate(data.domains) if domain.name in line]
    hover = [f"{name}, {_title(data, domain)}: {signed(value)}{unit}" for domain, value in line.items()]
    symbol = "circle" if dash == "solid" else "diamond"
    return Series(name, places, list(line.values()), colour, strong=True, symbol=symbol, dash=dash, hover=hover)


def _ends(data: RunData, line: Mapping[str, float], unit: str) -> str:
    """The values on the first and on the last domain, in words."""
    first, *_, last = [*line, *line]  # of one, both are the same
    return " and ".join(f"{signed(line[name])}{unit} on {_title(data, name)}" for name in dict.fromkeys((first, last)))


def cluster_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Agreement of k-means clusters with concepts, without training on labels."""
    table = summary[summary["probe"] == "kmeans"]
    metrics = [name for name in CLUSTERING if name in set(table["metric"])]
    if not metrics:
        return None
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    printed = _first_version(data)
    first = YOURS if len(printed) else 0
    plots = []
    for name in metrics:
        scale = 100 if name == "purity" else 1
        own = own_series(
            table[table["metric"] == name], data.backbones, places, column="domain", scale=scale, first=first
        )
        behind = published_lines(_rows(printed, "kmeans", name), places, "domain", scale=scale)
        label = CLUSTERING[name]
        plots.append(Plot(label.removesuffix(" (%)"), "Domain", label, [*behind, *own], domain_ticks(data.domains)))
    cells = table[table["metric"] == metrics[0]].set_index(["backbone", "domain"])["mean"]
    # The other three are known by their letters alone, and have no unit.
    what = "a purity of {:.1%}" if metrics[0] == "purity" else f"an {CLUSTERING[metrics[0]]} of {{:.3f}}"
    ends = dict.fromkeys((data.domains[0].name, data.domains[-1].name))
    sentences = [
        f"Clusters of {backbone.name} have "
        + " and ".join(f"{what.format(cells[backbone.name, name])} on {_title(data, name)}" for name in ends)
        + "."
        for backbone in data.backbones
        if all((backbone.name, name) in cells for name in ends)
    ]
    note = "k-means on the training features with as many clusters as concepts; test images are assigned to them."
    return Section("clusters", "Without labels: clusters", sentences, plots, note + _printed_note(data, printed))


def geometry_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Alignment and uniformity of test features by domain and against each other, and their ratio by domain."""
    table = summary[summary["probe"] == "geometry"].drop_duplicates(["backbone", "domain", "metric"])
    wide = table.pivot_table(index=["backbone", "domain"], columns="metric", values="mean")
    if not set(GEOMETRY) <= set(wide.columns):
        return None
    titles = {domain.name: domain.title for domain in data.domains}
    places = {name: float(place) for place, name in enumerate(titles)}
    first = YOURS if len(_first_version(data)) else 0  # as in the sections before
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
        colour = own_colour(number, first)
        scatter.append(Series(backbone.name, uniformity, alignment, colour, strong=True, hover=hover))
        ratio = [a / u for a, u in zip(alignment, uniformity, strict=True)]
        relative = [value / ratio[0] for value in ratio]
        ratios.append(Series(backbone.name, [places[name] for name in own.index], relative, colour, strong=True))
        if len(relative) > 1:
            sentences.append(
                f"The ratio of alignment to uniformity of {backbone.name} is {relative[-1]:.2f} times on "
                f"{labels[-1]} what it is on {labels[0]}."
            )
    ticks = domain_ticks(data.domains)
    by_domain = {
        name: own_series(table[table["metric"] == name], data.backbones, places, column="domain", scale=1, first=first)
        for name in GEOMETRY
    }
    plots = [
        *(Plot(name.capitalize(), "Domain", GEOMETRY[name], lines, ticks) for name, lines in by_domain.items()),
        Plot("Alignment against uniformity", GEOMETRY["uniformity"], GEOMETRY["alignment"], scatter),
        Plot("Their ratio", "Domain", f"Relative to {data.domains[0].title}", ratios, ticks),
    ]
    note = (
        "Alignment is the mean squared distance of test images of a concept, uniformity minus the logarithm of the "
        "mean Gaussian potential of all pairs; against each other, lines join domains in order."
    )
    return Section("geometry", "How features lie", sentences, plots, note)


def other_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Accuracy by domain of every probe that has no section of its own, a plot for each."""
    shown = summary["probe"].isin(["logistic", "fine-tuned", *NETWORKS]) | summary["probe"].str.startswith(PCA)
    table = summary[~shown & (summary["metric"] == "top1")]
    if table.empty:
        return None
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    ticks, first = domain_ticks(data.domains), YOURS if len(_first_version(data)) else 0
    plots, sentences = list[Plot](), list[str]()
    for (probe, shots), part in table.groupby(["probe", "shots"], sort=False):
        name = probe if shots == "all" else f"{probe}, {shots} samples per class"
        lines = own_series(part, data.backbones, places, column="domain", first=first)
        plots.append(Plot(name, "Domain", "Top-1 accuracy (%)", lines, ticks))
        mean = part.set_index(["backbone", "domain"])["mean"]
        for backbone in data.backbones:
            line = _by_domain(data, mean, backbone.name)
            ends = dict.fromkeys([*list(line)[:1], *list(line)[-1:]])
            values = " and ".join(f"{line[domain]:.1%} on {_title(data, domain)}" for domain in ends)
            sentences += [f"With {name}, {backbone.name} has {values}."] if values else []
    note = "Each is fitted to the training features of a domain. Bars are the deviation over seeds."
    return Section("other-probes", "With other probes", sentences, plots, note)


def _title(data: RunData, name: str) -> str:
    return next(domain.title for domain in data.domains if domain.name == name)
