"""Scores as the `model-index` of a Hugging Face model card.

The format is that of modelcard.md in huggingface/hub-docs: each result of a model has a task, a data set and metrics.
"""

from pathlib import Path
from typing import Any

from unseen.exchange.record import ResultRecord, ResultsFile, ScoreFacts
from unseen.exchange.yaml_text import yaml_text
from unseen.files import write_text
from unseen.metrics.catalogue import METRICS
from unseen.runs.score import shots_name

CARDS = (".yaml", ".yml", ".md")
"""Suffixes of files for model cards."""
TASKS = {
    "concepts": "Concept generalization (unseen)",
    "tasks": "Transfer (unseen)",
    "shifts": "Robustness to distribution shifts (unseen)",
    "probe": "Linear probe (unseen)",
}
TYPES = {"top1": "accuracy"}
"""Names of metrics on the hub, by our names."""


def write_model_card(file: ResultsFile, path: Path) -> None:
    """Write the `model-index` of all backbones; in a .md file it is enclosed in the --- lines of a card's header."""
    text = yaml_text({"model-index": model_index(file)})
    write_text(path, f"---\n{text}---\n" if path.suffix == ".md" else text)


def model_index(file: ResultsFile) -> list[dict[str, Any]]:
    """One entry per backbone with one result per record, which has the first metric of each probe and shots."""
    names = list(dict.fromkeys(record.backbone.name for record in file.records))
    return [
        {"name": name, "results": [_result(record) for record in file.records if record.backbone.name == name]}
        for name in names
    ]


def _result(record: ResultRecord) -> dict[str, Any]:
    data = record.data
    of = f"ImageNet-CoG {data.title}" if data.published else data.title
    first: dict[tuple[str, int | None], ScoreFacts] = {}
    for score in record.scores:
        first.setdefault((score.probe, score.shots), score)
    return {
        "task": {"type": "image-classification", "name": TASKS[record.study]},
        "dataset": {"type": data.published or data.name, "name": of, "config": data.name, "split": "test"},
        "metrics": [_metric(record, score) for score in first.values()],
    }


def _metric(record: ResultRecord, score: ScoreFacts) -> dict[str, Any]:
    """One metric; accuracies are in percent, as usual on model cards."""
    share = score.metric in METRICS and METRICS[score.metric].unit == "share"

    def shown(value: float) -> float:
        return round(100 * value, 2) if share else value

    images = "all images" if score.shots is None else f"{shots_name(score.shots)} per class"
    name = f"{score.metric}{' (%)' if share else ''}, {score.probe} probe, {images}"
    ends = {f"{each.over}_95": [shown(each.low), shown(each.high)] for each in score.intervals}
    arguments = {"protocol": record.protocol, "probe": score.probe, "shots": shots_name(score.shots)}
    return {
        "type": TYPES.get(score.metric, score.metric),
        "value": shown(score.value),
        "name": name,
        "args": {**arguments, "seeds": len(score.seeds), **ends},
    }
