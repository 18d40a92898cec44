"""Scores as files of Every Eval Ever, a schema of evaluation results that many frameworks are converted to.

The schema is `published/every-eval-ever.schema.json`. There is one file per backbone and axis of study, below

    data/unseen-AXIS/DEVELOPER/MODEL/UUID.json

which is the layout of their repository. Further facts are texts in `additional_details`, as the schema has it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from unseen.exchange.portable import Written, directed_metrics, portable_name
from unseen.exchange.record import BackboneFacts, Interval95, ResultRecord, ResultsFile, ScoreFacts
from unseen.files import write_text
from unseen.metrics.catalogue import Metric
from unseen.runs.score import shots_name

VERSION = "0.3.0"
UNKNOWN = "unknown"
PUBLIC = ("timm", "torchvision", "hf", "openclip", "hub", "registry")
"""Sources of backbones whose weights can be downloaded."""
METRICS = {"top1": "accuracy", "top5": "accuracy_top5"}
"""Their names of metrics, by ours; others get the name of this package before them."""
UNITS = {"share": "proportion", "score": "points"}


def write_every_eval_ever(file: ResultsFile, out: Path) -> Written:
    """Write the files below a folder; the same records give the same bytes."""
    logs: dict[tuple[str, str], list[ResultRecord]] = {}
    for record in file.records:
        logs.setdefault((record.backbone.name, record.study), []).append(record)
    paths, scores, left_out = list[Path](), 0, dict[str, str]()
    for (_, study), records in logs.items():
        results = [result for record in records for result in _results(record)]
        undirected = {each.metric for record in records for each in record.scores} - {
            name for record in records for name in directed_metrics(record)
        }
        left_out |= dict.fromkeys(sorted(undirected), "neither direction is better, or it is unknown to this version")
        if results:
            log = _log(file, study, records, results)
            identity = json.dumps([log["evaluation_id"], records[0].backbone.name, records[0].backbone.digest])
            name = UUID(bytes=sha256(identity.encode()).digest()[:16], version=4)
            path = out.joinpath("data", f"unseen-{study}", *log["model_info"]["id"].split("/"), f"{name}.json")
            write_text(path, json.dumps(log, indent=1, allow_nan=False) + "\n")
            paths.append(path)
            scores += len(results)
    return Written(paths, scores, left_out)


def _log(
    file: ResultsFile, study: str, records: Sequence[ResultRecord], results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    backbone, made = records[0].backbone, max((record.made for record in records), key=lambda each: each.last)
    model = _model(backbone, made.versions.get("torch", ""))
    studies = {f"study {number}": text for number, text in enumerate(file.studies, 1)}
    when = str(_epoch(made.last))
    return {
        "schema_version": VERSION,
        "evaluation_id": f"unseen-{study}/{model['id']}/{when}",
        **({"evaluation_timestamp": made.last} if made.last else {}),
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "unseen",
            "source_type": "evaluation_run",
            "source_organization_name": UNKNOWN,
            "evaluator_relationship": "other",
            "additional_details": _texts({"device": made.device}),
        },
        "eval_library": {
            "name": "unseen",
            "version": file.unseen,
            "additional_details": {**_texts({"versions": made.versions}), **studies},
        },
        "model_info": model,
        "evaluation_results": list(results),
    }


def _epoch(time: str) -> int:
    """Seconds since 1970 of a time in ISO 8601; 0 if it is unknown."""
    return int(datetime.fromisoformat(time).timestamp()) if time else 0


def _model(backbone: BackboneFacts, torch: str) -> dict[str, Any]:
    source, _, name = (backbone.id or "").partition(":")
    developer, _, model = name.rpartition("/") if source == "hf" else (source, "", name)
    if source not in PUBLIC:
        developer, model = "", backbone.name
    parts = [portable_name(developer) if developer else UNKNOWN, portable_name(model)]
    facts = {key: value for key, value in asdict(backbone).items() if key not in {"name", "cautions"}}
    return {
        "name": backbone.name,
        "id": "/".join(parts),
        **({"developer": developer} if developer else {}),
        **({"inference_engine": {"name": "torch", "version": torch}} if torch else {}),
        "additional_details": {
            "deployment_type": "self_deployed",
            "model_availability": "open_weights" if source in PUBLIC else UNKNOWN,
            **_texts(facts),
            **_texts({f"caution {number}": each.text for number, each in enumerate(backbone.cautions, 1)}),
        },
    }


def _results(record: ResultRecord) -> list[dict[str, Any]]:
    metrics = directed_metrics(record)
    return [_result(record, score, metrics[score.metric]) for score in record.scores if score.metric in metrics]


def _result(record: ResultRecord, score: ScoreFacts, metric: Metric) -> dict[str, Any]:
    data = record.data
    facts = {key: value for key, value in asdict(data).items() if key != "title"}
    setting = {"protocol": record.protocol, "probe": score.probe, "shots": shots_name(score.shots)}
    return {
        "evaluation_result_id": "/".join([data.name, *filter(None, setting.values()), score.metric]),
        "evaluation_name": data.name,
        "source_data": {"dataset_name": data.title, "source_type": "other", "additional_details": _texts(facts)},
        **({"evaluation_timestamp": record.made.last} if record.made.last else {}),
        "metric_config": {
            "evaluation_description": f"{score.probe} probe on {data.title}, {shots_name(score.shots)} training images"
            f"{'' if score.shots is None else ' per class'}",
            "metric_id": METRICS.get(metric.name, f"unseen.{metric.name}"),
            "metric_name": metric.name,
            "metric_unit": UNITS.get(metric.unit, metric.unit),
            "lower_is_better": metric.higher_is_better is False,
            "score_type": "continuous",
            "min_score": "-Infinity" if metric.lower is None else metric.lower,
            "max_score": "Infinity" if metric.upper is None else metric.upper,
        },
        "score_details": {
            "score": score.value,
            "details": _texts(
                {
                    **{key: value for key, value in setting.items() if value},
                    "seeds": score.seeds,
                    "values": score.values,
                    "deviation": score.deviation,
                    **{f"notice {number}": each.text for number, each in enumerate(record.notices, 1)},
                }
            ),
            **_uncertainty(score, data.images.get("test")),
        },
        "generation_config": {
            "additional_details": _texts(
                {f"{probe}.{key}": value for probe, of in record.settings.items() for key, value in of.items()}
            )
        },
    }


def _uncertainty(score: ScoreFacts, images: int | None) -> dict[str, Any]:
    if not score.intervals:
        return {}
    interval: Interval95 = score.intervals[0]
    samples = {"seeds": len(score.seeds), "images": images}.get(interval.over)
    ends = {"lower": interval.low, "upper": interval.high, "confidence_level": 0.95, "method": f"over {interval.over}"}
    return {
        "uncertainty": {"confidence_interval": ends, **({} if samples is None else {"num_samples": samples})},
    }


def _texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Facts as texts, which is all that the schema takes; unknown ones are left out."""
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in facts.items()
        if value is not None and value not in ("", [], {})
    }
