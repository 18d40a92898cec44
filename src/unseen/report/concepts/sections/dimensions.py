"""With fewer dimensions: accuracy after principal component analysis (Fig. 5 of the first version of ImageNet-CoG)."""

import pandas as pd

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.first_version import PCA, first_version, printed_note
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section
from unseen.report.core.model_lines import own_series, published_lines
from unseen.runs.data import RunData


def build(context: ConceptContext) -> Section | None:
    """Accuracy against the number of principal components, a plot for each domain."""
    data, summary = context.main, context.summary
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    reduced = table[table["probe"].str.startswith(PCA)]
    if reduced.empty:
        return None
    sizes = sorted({int(name.removeprefix(PCA)) for name in reduced["probe"]})
    places = {f"{PCA}{size}": float(place) for place, size in enumerate(sizes)} | {"logistic": float(len(sizes))}
    ticks = (*((float(place), str(size)) for place, size in enumerate(sizes)), (float(len(sizes)), "all"))
    rows, printed = table[table["probe"].isin(places)], first_version(data)
    figures = []
    for domain in data.domains:
        if domain.name not in set(reduced["domain"]):
            continue
        behind = printed[(printed["domain"] == domain.name) & (printed["metric"] == "top1")]
        mine = rows[rows["domain"] == domain.name]
        own = own_series(mine, data.backbones, places, column="probe")
        lines = [*published_lines(behind, places, "probe"), *own]
        figures.append(Figure(domain.title, "Principal components", "Top-1 accuracy (%)", lines, x_ticks=ticks))
    sentences = [_pca_sentence(data, rows, backbone.name, sizes) for backbone in data.backbones]
    return Section(
        "dimensions", "With fewer dimensions", [text for text in sentences if text], figures,
        "The same linear probe on the first principal components of the unit-length training features; the last point "
        f"has all dimensions. Error bars are the standard deviation over seeds.{printed_note(data, printed)}",
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
    return f"To stay within one point of its full accuracy, {backbone} needs {' and '.join(dict.fromkeys(parts))}."


SECTION = PageSection("concepts", 100, build)
