"""Scores as `.eval_results/*.yaml` of a model repository on the Hugging Face Hub, which shows them on leaderboards.

The format is that of eval_results.yaml in huggingface/hub-docs (`published/hf-eval-results.spec.yaml`): one entry for
each task of a data set repository. A repository is a benchmark if its `eval.yaml` names these tasks:

    PROTOCOL_PROBE[_N-shot]_METRIC        cog-v2_logistic_8-shot_top1
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unseen.errors import UserError, option
from unseen.exchange.portable import Written, directed_metrics, portable_name
from unseen.exchange.record import ResultRecord, ResultsFile, ScoreFacts, Told
from unseen.exchange.yaml_text import yaml_text
from unseen.files import write_text
from unseen.metrics.catalogue import Metric

FOLDER = ".eval_results"
REPOSITORIES = {
    "cifar10": ("uoft-cs/cifar10", 10_000),
    "cifar100": ("uoft-cs/cifar100", 10_000),
    "food101": ("ethz/food101", 25_250),
    "in1k": ("ILSVRC/imagenet-1k", 50_000),
}
"""Data sets whose repositories on the Hub have the same test images, and the number of these."""
DIGITS = 2
SKIPPED = ("skipped-episodes", "skipped-shots", "no-episodes", "nothing-to-find")
"""Codes of notices about scores that do not exist."""
OF_PROBE = {
    "classes-not-drawn": "centroids", "temperature-on-test-data": "linear", "label-free": "spectrum",
    "few-for-spectrum": "spectrum", "queries-skipped": "retrieval",
}  # fmt: skip
"""Codes of notices about the scores of one probe."""


def write_hub_results(file: ResultsFile, out: Path, namespace: str = "") -> Written:
    """Write `BACKBONE/.eval_results/unseen-DATASET.yaml` for every backbone and data set.

    Args:
        namespace: a user or organisation with a repository `namespace/DATASET` for every data set; without it, only the
            data sets in `REPOSITORIES` are written.
    """
    if namespace and portable_name(namespace) != namespace:
        raise UserError(f"'{namespace}' is no name of a user or an organisation on the Hub")
    entries: dict[Path, list[dict[str, Any]]] = {}
    left_out = dict[str, str]()
    for record in file.records:
        repository = _repository(record, namespace)
        if not repository:
            left_out[record.data.name] = "no repository on the Hub is known to have these test images"
            continue
        metrics = directed_metrics(record)
        left_out |= {
            each.metric: "neither direction is better, or it is unknown to this version"
            for each in record.scores
            if each.metric not in metrics
        }
        path = Path(portable_name(record.backbone.name), FOLDER, f"unseen-{portable_name(record.data.name)}.yaml")
        entries.setdefault(path, []).extend(
            _entry(file, record, score, metrics[score.metric], repository)
            for score in record.scores
            if score.metric in metrics
        )
    written = {path: of for path, of in entries.items() if of}
    if not written:
        raise UserError(
            "no repository on the Hub is known to have these test images; name the owner of the data sets there "
            f"({option('format', 'hf-eval-results:OWNER')}, for repositories OWNER/DATASET)"
        )
    for path, of in written.items():
        write_text(out / path, yaml_text(of))
    return Written([out / path for path in written], sum(map(len, written.values())), left_out)


def _repository(record: ResultRecord, namespace: str) -> str:
    if namespace:
        return f"{namespace}/{portable_name(record.data.name)}"
    known, images = REPOSITORIES.get(record.data.name, ("", 0))
    return known if record.data.images.get("test") == images else ""


def _entry(
    file: ResultsFile, record: ResultRecord, score: ScoreFacts, metric: Metric, repository: str
) -> dict[str, Any]:
    value = round(100 * score.value, DIGITS) if metric.unit == "share" else score.value
    entry: dict[str, Any] = {"dataset": {"id": repository, "task_id": task_id(record, score)}, "value": value}
    if record.made.last:
        entry["date"] = record.made.last
    return entry | {"notes": "; ".join(_notes(file, record, score, metric))}


def task_id(record: ResultRecord, score: ScoreFacts) -> str:
    """The task of a score, as `eval.yaml` of its data set has to name it."""
    shots = [] if score.shots is None else [f"{score.shots}-shot"]
    return portable_name("_".join(filter(None, [record.protocol, score.probe, *shots, score.metric])))


def _notes(file: ResultsFile, record: ResultRecord, score: ScoreFacts, metric: Metric) -> Iterator[str]:
    """The setup in words, with everything that a reader must know."""
    share = metric.unit == "share"

    def shown(value: float) -> str:
        return f"{100 * value:.{DIGITS}f}" if share else f"{value:g}"

    unit = "percent" if share else metric.unit
    of = "fine-tuned on the data" if record.backbone.finetuned else "of the frozen backbone"
    yield f"{score.metric}{'' if unit == 'score' else f' in {unit}'}, {score.probe} {of}"
    yield "all training images" if score.shots is None else f"{score.shots} training images per class"
    yield f"mean over {_seeds(score.seeds)}"
    yield from (f"95% interval over {each.over} {shown(each.low)} to {shown(each.high)}" for each in score.intervals)
    yield f"unseen {file.unseen}"
    notices = (each for each in record.notices if _concerns(each, score))
    yield from (each.text.rstrip(".") for each in (*record.backbone.cautions, *notices))


def _concerns(notice: Told, score: ScoreFacts) -> bool:
    """Whether a notice about the data set of a score is also about its probe and its number of shots."""
    shots = notice.arguments.get("shots")
    if notice.code in SKIPPED or not score.probe.startswith(OF_PROBE.get(notice.code, "")):
        return False
    return shots is None or str(score.shots) in re.findall(r"\w+", str(shots))


def _seeds(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'}"
