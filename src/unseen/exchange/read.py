"""Read results files, with the type of every field checked, and convert their records back into runs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from unseen.errors import UserError
from unseen.exchange.record import LATER, SCHEMA, VERSION, BackboneFacts, ResultRecord, ResultsFile, Told
from unseen.features.about import BackboneAbout
from unseen.metrics.catalogue import METRICS, Metric
from unseen.papers.comparability import ScoredData
from unseen.probes.own import OWN_METRIC
from unseen.reading.guard import reading
from unseen.reading.json_records import read_json, typed
from unseen.runs.cautions import PHRASES, Caution
from unseen.runs.data import METRIC_FACTS, Backbone, Domain, RunData, Written
from unseen.runs.notices import SENTENCES, Notice, told
from unseen.runs.score import Score
from unseen.runs.setup import Extraction, FeatureKey, LevelsUsed, ProtocolUsed, Setting

ADVICE = "export the run again (unseen export RUN --out results.json)"


def read_results_file(path: Path) -> ResultsFile:
    """Read a results file; another format, or another version of the schema, is an error."""
    record = read_json(path, ADVICE, unique=True)
    if record.get("schema") != SCHEMA:
        raise UserError(f'{path}: not a results file, which has "schema": "{SCHEMA}"; {ADVICE}')
    version = record.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        advice = "update unseen" if newer else ADVICE
        raise UserError(
            f"{path}: has version {str(version)[:20]} of the schema, but this unseen reads version {VERSION}; {advice}"
        )
    with reading(path, "a results file", ADVICE):
        json.dumps(record, allow_nan=False)  # Python's JSON reader accepts NaN and infinities, which JSON does not have
        earlier: dict[str, Any] = {name: [] for name in LATER}
        file: ResultsFile = typed(earlier | record, ResultsFile, str(path))
    return file


def run_of_records(records: Sequence[ResultRecord], title: str = "Results") -> RunData:
    """Convert the records of one study into a run, from which pages and the leaderboard are made."""
    first = records[0]
    domains = {record.data.name: _domain(record) for record in records}
    backbones = {record.backbone.name: _backbone(record.backbone) for record in records}
    protocols = {
        name: ProtocolUsed(name, OWN_METRIC if name in own_metrics(record) else record.protocol, settings)
        for record in records
        for name, settings in record.settings.items()
    }
    levels = next((record.data.levels for record in records if record.data.levels), None)
    return RunData(
        title=title,
        scores=[score for record in records for score in _scores(record)],
        domains=list(domains.values()),
        backbones=list(backbones.values()),
        baseline=first.backbone.name,
        told=list(dict.fromkeys(_notice(each) for record in records for each in record.notices)),
        protocols=list(protocols.values()),
        levels=LevelsUsed(levels.name, levels.hash) if levels else None,
        written=Written(first.made.first, first.made.last, first.made.versions, first.made.device),
        published=first.data.published,
        scored=[scored for record in records if (scored := scored_data(record))],
        features=[
            FeatureKey(record.backbone.name, record.data.name, record.data.features)
            for record in records
            if record.data.features
        ],
    )


def own_metrics(record: ResultRecord) -> dict[str, Metric]:
    """The user's own metrics that a record has scores and valid facts of, by name."""
    own = {score.metric for score in record.scores if score.metric not in METRICS}
    facts = {name: record.settings[name] for name in own if name in record.settings}
    return {
        name: Metric(name, **{key: cast("Any", settings[key]) for key in METRIC_FACTS})
        for name, settings in facts.items()
        if _are_metric_facts(settings)
    }


def _are_metric_facts(settings: Mapping[str, Setting]) -> bool:
    if not {*METRIC_FACTS} <= settings.keys():
        return False
    bounds = [settings["lower"], settings["upper"]]
    return (
        isinstance(settings["higher_is_better"], bool)
        and isinstance(settings["unit"], str)
        and all(bound is None or (isinstance(bound, int | float) and not isinstance(bound, bool)) for bound in bounds)
    )


def _scores(record: ResultRecord) -> list[Score]:
    scores = []
    for each in record.scores:
        ends = next((i for i in each.intervals if i.over == "episodes"), None)
        scores += [
            Score(
                record.study, record.protocol, record.backbone.name, record.data.name, each.probe, each.shots, seed,
                each.metric, value, low=ends.low if ends else None, high=ends.high if ends else None,
                versions=record.made.versions,
            )
            for seed, value in zip(each.seeds, each.values, strict=True)
        ]  # fmt: skip
    return scores


def _domain(record: ResultRecord) -> Domain:
    data = record.data
    return Domain(
        data.name, data.title, data.seen, data.similarity, classes=data.classes or 0, limit=data.limit,
        licence=data.licence, shifted=data.shifted, axis=record.study,
    )  # fmt: skip


def scored_data(record: ResultRecord) -> ScoredData | None:
    """The data that the scores of a record were measured on; None if the record has no numbers of images."""
    data = record.data
    if not data.images:
        return None
    return ScoredData(
        record.backbone.name, data.name, record.protocol, data.classes or 0, data.images, data.draw, data.variant,
        data.limit,
    )  # fmt: skip


def _backbone(facts: BackboneFacts) -> Backbone:
    about = BackboneAbout(
        facts.id, facts.weights, facts.layer, facts.pool, facts.dimension, facts.parameters,
        facts.preprocessing, facts.digest,
    )  # fmt: skip
    fast = None if facts.resizer is None else facts.resizer == "pytorch"
    known = any(value is not None for value in vars(about).values())
    return Backbone(
        facts.name,
        facts.category,
        facts.description,
        [_caution(each) for each in facts.cautions],
        facts.imagenet_top1,
        facts.training_data,
        features=Extraction(about, facts.precision, fast, facts.exif, facts.decoder)
        if known and not facts.finetuned
        else None,
        finetuning=about if facts.finetuned else None,
        classifier=facts.classifier,
    )


def _caution(told_in_file: Told) -> Caution:
    """The caution with this code if this version knows it, and otherwise one with the text of the file."""
    known = Caution(told_in_file.code, tuple(sorted(told_in_file.arguments.items())))
    if told_in_file.code in PHRASES and _same(known, told_in_file):
        return known
    return Caution("told", (("text", told_in_file.text),))


def _notice(told_in_file: Told) -> Notice:
    known = Notice(told_in_file.code, tuple(sorted(told_in_file.arguments.items())))
    return known if told_in_file.code in SENTENCES and _same(known, told_in_file) else told(told_in_file.text)


def _same(known: Caution | Notice, told_in_file: Told) -> bool:
    """Whether a code with its arguments gives the text of the file, so that neither can hide something else."""
    try:
        return (known.sentence if isinstance(known, Notice) else known.text) == told_in_file.text
    except (LookupError, ValueError):
        return False
