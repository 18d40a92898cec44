"""Results files: read with every type checked, and turned into runs again."""

import json
from collections.abc import Sequence
from pathlib import Path

from unseen.errors import UserError
from unseen.exchange.record import SCHEMA, VERSION, BackboneFacts, DataFacts, ResultRecord, ResultsFile, Told
from unseen.features.about import BackboneAbout
from unseen.images.transform import Transform
from unseen.papers.comparability import ScoredData
from unseen.reading.guard import reading
from unseen.reading.json_records import read_json, typed
from unseen.runs.cautions import PHRASES, Caution
from unseen.runs.data import Backbone, Domain, RunData, Written
from unseen.runs.notices import SENTENCES, Notice, told
from unseen.runs.score import Score
from unseen.runs.setup import Extraction, FeatureKey, LevelsUsed, ProtocolUsed

ADVICE = "export the run again (unseen export RUN --out results.json)"


def read_results_file(path: Path) -> ResultsFile:
    """The records in a file. One of another form, or of another version of the schema, is refused in a sentence."""
    record = read_json(path, ADVICE)
    if record.get("schema") != SCHEMA:
        raise UserError(f'{path}: not a results file, which says "schema": "{SCHEMA}"; {ADVICE}')
    version = record.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        advice = "update unseen" if newer else ADVICE
        raise UserError(
            f"{path}: of version {str(version)[:20]} of the schema, and this unseen reads version {VERSION}; {advice}"
        )
    with reading(path, "a results file", ADVICE):
        json.dumps(record, allow_nan=False)  # Python reads numbers that JSON does not have
        file: ResultsFile = typed(record, ResultsFile, str(path))
    return file


def run_of_records(records: Sequence[ResultRecord], title: str = "Results") -> RunData:
    """Records of one study as a run: what pages and the leaderboard are made from."""
    first = records[0]
    domains = {record.data.name: _domain(record.data) for record in records}
    backbones = {record.backbone.name: _backbone(record.backbone) for record in records}
    protocols = {
        probe: ProtocolUsed(probe, record.protocol, settings)
        for record in records
        for probe, settings in record.settings.items()
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
        study=first.study,
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


def _domain(data: DataFacts) -> Domain:
    return Domain(
        data.name, data.title, data.seen, data.similarity, classes=data.classes or 0, limit=data.limit,
        licence=data.licence, shifted=data.shifted,
    )  # fmt: skip


def scored_data(record: ResultRecord) -> ScoredData | None:
    """What the scores of a record are of; None where it does not say how many images there were."""
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
        Transform(**vars(facts.preprocessing)) if facts.preprocessing else None, facts.digest,
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
        Extraction(about, facts.precision, fast, facts.exif, facts.decoder) if known and not facts.finetuned else None,
        about if facts.finetuned else None,
        facts.classifier,
    )


def _caution(said: Told) -> Caution:
    """By its code where this version knows it, by its text otherwise."""
    known = Caution(said.code, tuple(sorted(said.arguments.items())))
    return known if said.code in PHRASES and _same(known, said) else Caution("told", (("text", said.text),))


def _notice(said: Told) -> Notice:
    known = Notice(said.code, tuple(sorted(said.arguments.items())))
    return known if said.code in SENTENCES and _same(known, said) else told(said.text)


def _same(known: Caution | Notice, said: Told) -> bool:
    """Whether a code and its arguments say what the text of a file says, so that neither can hide something else."""
    try:
        return (known.sentence if isinstance(known, Notice) else known.text) == said.text
    except (LookupError, ValueError):
        return False
