"""Records of results files, as if measured."""

from dataclasses import replace
from typing import Any

from run_folders import whole_data

from unseen.exchange.export import run_records
from unseen.exchange.record import ResultRecord
from unseen.ontology.levels import load_levels
from unseen.ontology.levels_hash import levels_hash
from unseen.papers import published
from unseen.papers.concept_generalization import DOMAINS
from unseen.probes.protocol import COG_V2
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.score import Score
from unseen.runs.setup import LevelsUsed, ProtocolUsed


def concept_records(more: float = 0.0, **changes: Any) -> list[ResultRecord]:
    """The published accuracies of ResNet50, and some more, as if measured."""
    table = published("cog-v2")
    table = table[(table["model"] == "ResNet50") & table["shots"].isin(["1", "all"])]
    scores = [
        Score("concepts", "cog-v2", "mine", row.domain, "logistic", None if row.shots == "all" else 1, 0, "top1",
              row.mean / 100 + more)
        for row in table.itertuples()
    ]  # fmt: skip
    data = RunData(
        "", scores, [Domain(name, name, name == "in1k") for name in DOMAINS], [Backbone("mine", "yours")], "mine",
        protocols=[ProtocolUsed.of("logistic", COG_V2)],
        levels=LevelsUsed("cog-v2", levels_hash(load_levels("cog-v2"))), published="cog-v2",
        scored=[whole_data("mine", name, **changes) for name in DOMAINS],
    )  # fmt: skip
    records = run_records(data)
    return [replace(each, backbone=replace(each.backbone, digest="ab" * 32)) for each in records]
