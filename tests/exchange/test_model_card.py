"""Scores for model cards, read back by the hub's own library."""

from pathlib import Path

import pytest
import yaml
from huggingface_hub.repocard_data import ModelCardData, model_index_to_eval_results
from result_records import concept_records

from unseen.exchange.model_card import write_model_card
from unseen.exchange.record import ResultsFile


@pytest.mark.filterwarnings("ignore")
def test_the_hub_reads_the_index(tmp_path: Path) -> None:
    file = ResultsFile("unseen-results", 1, "1", concept_records())
    write_model_card(file, tmp_path / "card.md")
    text = (tmp_path / "card.md").read_text()
    assert text.startswith("---\n")
    assert text.endswith("---\n")
    index = yaml.safe_load(text.strip("-\n"))["model-index"]
    name, results = model_index_to_eval_results(index)
    assert name == "mine"
    assert len(results) == 12
    [last] = [each for each in results if each.dataset_config == "l5" and each.metric_args["shots"] == "all"]
    # Table 10 of the paper: 52.0 for ResNet50 on L5.
    assert (last.task_type, last.dataset_type, last.metric_type, last.metric_value) == (
        "image-classification", "cog-v2", "accuracy", 52.0,
    )  # fmt: skip
    [low, high] = next(ends for name, ends in last.metric_args.items() if name.endswith("_95"))
    assert 1 < low <= last.metric_value <= high  # percent, as the value is
    assert ModelCardData(model_name=name, eval_results=results).to_dict()["model-index"][0]["name"] == "mine"


def test_names_are_only_text(tmp_path: Path) -> None:
    from dataclasses import replace

    odd = 'a: "b"\n- c #\u2028'
    records = [replace(each, backbone=replace(each.backbone, name=odd)) for each in concept_records()]
    write_model_card(ResultsFile("unseen-results", 1, "1", records), tmp_path / "card.yaml")
    assert yaml.safe_load((tmp_path / "card.yaml").read_text())["model-index"][0]["name"] == odd
