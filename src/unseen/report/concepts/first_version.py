"""What the first version of ImageNet-CoG (Sariyildiz et al., January 2021) printed of the same domains as a run."""

import pandas as pd

from unseen.papers import cog_models, published
from unseen.papers.concept_generalization import DOMAINS, SEEN
from unseen.runs.comparability_words import searched_with
from unseen.runs.data import RunData

CLUSTERING = {"purity": "Purity (%)", "ami": "AMI", "nmi": "NMI", "ari": "ARI"}
PCA = "pca-"
PRINTED = {"cog-v1": DOMAINS, "cog-v2": (SEEN,)}
"""Whose levels a run has → domains of the same concepts in the first version."""
PRUNED = " The others are of this run{}; the paper's are not."


def first_version(data: RunData) -> pd.DataFrame:
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


def printed_rows(printed: pd.DataFrame, probe: str, metric: str) -> pd.DataFrame:
    return printed[(printed["probe"] == probe) & (printed["metric"] == metric)]


def printed_note(data: RunData, printed: pd.DataFrame) -> str:
    """Whose the thin lines are, as a sentence to append; empty where there are none."""
    if printed.empty:
        return ""
    thin, where = "Thin lines", ""
    if data.published != "cog-v1":
        thin, where = "Thin lines or small points", " on IN-1K alone, as its levels have other concepts"
    return (
        f" {thin}, in the colours of their categories, are the seven models of the paper's first version{where}; it "
        f"does not print deviations.{PRUNED.format(own) if (own := searched_with(data)) else ''}"
    )
