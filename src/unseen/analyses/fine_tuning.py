"""Frozen features against fine-tuning of the whole backbone."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from unseen.probes.by_name.logistic import Logistic
from unseen.runs.score import Score
from unseen.runs.tables import score_table, summarise

if TYPE_CHECKING:
    import pandas as pd


def relative_to_finetuned(scores: Iterable[Score], finetuned: Iterable[Score]) -> "pd.DataFrame":
    """Top-1 accuracy of the logistic regression minus that of fine-tuning, means over seeds.

    Columns: backbone, domain, shots, mean, finetuned, relative. Backbones and domains that were not fine-tuned are
    omitted.
    """
    probes, references = (summarise(score_table(part)) for part in (scores, finetuned))
    chosen = probes[(probes["metric"] == "top1") & (probes["probe"] == Logistic.name)]
    found = references[references["metric"] == "top1"].rename(columns={"mean": "finetuned"})
    table = chosen.merge(found[["backbone", "domain", "finetuned"]], on=["backbone", "domain"])
    table["relative"] = table["mean"] - table["finetuned"]
    return table[["backbone", "domain", "shots", "mean", "finetuned", "relative"]]
