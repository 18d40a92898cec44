"""Check whether the records of a results file are possible and plausible.

Impossible values are errors: an accuracy above 1, levels that differ from those they are said to be, and numbers that
contradict each other (`unseen.exchange.contradictions`). Implausible values are warnings: scores far outside the range
of published models on the same data, a distant level that is easier than a near one. Notes name what was not checked,
and scores that are not comparable with published ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from unseen.errors import UserError
from unseen.exchange.contradictions import ROUNDING, score_contradictions, setting_contradictions
from unseen.exchange.export import study_settings
from unseen.exchange.hits import record_hits
from unseen.exchange.named_protocols import named
from unseen.exchange.places import names_a_place
from unseen.exchange.plausible import comparison
from unseen.exchange.ranges import range_errors
from unseen.exchange.read import own_metrics, read_results_file
from unseen.exchange.record import ResultRecord, ResultsFile, ScoreFacts
from unseen.exchange.stated_settings import named_settings, stated_settings
from unseen.metrics.catalogue import METRICS
from unseen.ontology.levels import SHIPPED, load_levels
from unseen.ontology.levels_hash import levels_hash
from unseen.papers.concept_generalization import LEVELS
from unseen.runs.score import shots_name
from unseen.studies.differences import differences_from_shipped
from unseen.studies.toml import study_of

Severity = Literal["error", "warning", "note"]
LONGEST_NAME = 200
NUMBERS = {int, float, bool, type(None)}
"""Types of values without text."""
FEWER_BETTER = 0.02
"""An accuracy with fewer shots that is higher by more than this is a warning."""


@dataclass(frozen=True)
class Finding:
    """One error, warning or note about a results file.

    Attributes:
        where: the record it is about, as `backbone, protocol, data`; empty for the whole file.
    """

    severity: Severity
    where: str
    text: str


def sound_results(path: Path) -> ResultsFile:
    """Read a results file, and refuse it if it has an error."""
    file = read_results_file(path)
    for finding in errors(file):
        where = f"{finding.where}: " if finding.where else ""
        raise UserError(f"{path}: {where}{finding.text}; unseen check {path} lists all errors")
    return file


def check_results(path: Path) -> list[Finding]:
    """The findings on a file: its errors, or if there are none its warnings and notes."""
    try:
        file = read_results_file(path)
    except UserError as error:
        return [Finding("error", "", str(error).removeprefix(f"{path}: "))]
    return [*errors(file)] or [*_warnings(file)]


def errors(file: ResultsFile) -> Iterator[Finding]:
    """The impossible values of a file."""
    if not file.records:
        yield Finding("error", "", "the file has no records")
    yield from _study_errors(file)
    known = set[tuple[str, ...]]()
    for record in file.records:
        if record.key in known:
            yield Finding("error", _where(record), "the record is in the file twice")
        known.add(record.key)
        for text in _record_errors(record):
            yield Finding("error", _where(record), text)


def _study_errors(file: ResultsFile) -> Iterator[Finding]:
    """Studies that cannot be read, and settings that are not those of their texts."""
    if file.study_settings and len(file.study_settings) != len(file.studies):
        counts = f"{len(file.study_settings)} settings of {len(file.studies)}"
        yield Finding("error", "", f"the file has {counts} studies")
    for number, text in enumerate(file.studies, 1):
        name = f"study {number}"
        try:
            settings = study_settings(text, name)
        except UserError as error:
            yield Finding("error", name, str(error).removeprefix(f"{name}: "))
            continue
        given = file.study_settings[number - 1] if number <= len(file.study_settings) else settings
        wrong = next((place for place in {**settings, **given} if settings.get(place) != given.get(place)), None)
        if wrong is not None:
            told = f"{given.get(wrong)} in `study_settings`, but {settings.get(wrong)} in its text"
            yield Finding("error", name, f"{wrong} is {told}")


def _where(record: ResultRecord) -> str:
    return ", ".join(filter(None, [record.backbone.name, record.protocol, record.data.name]))


def _record_errors(record: ResultRecord) -> Iterator[str]:
    data = record.data
    if not all(0 < len(name.strip()) <= LONGEST_NAME for name in (record.backbone.name, data.name, data.title)):
        yield f"the backbone or the data have no name, or a name of more than {LONGEST_NAME} characters"
    if not record.scores:
        yield "the record has no scores"
    yield from range_errors(record)
    if data.published and data.levels and data.levels.hash != _shipped(data.published):
        yield f"the levels are said to be those of {data.published}, but their hash differs"
    for probe, settings in record.settings.items():
        yield from setting_contradictions(probe, record.protocol, settings)
    scored = [(score.probe, score.shots, score.metric) for score in record.scores]
    if len({*scored}) < len(scored):
        yield "the record has the same score twice"
    metrics = {**METRICS, **own_metrics(record)}
    for score in record.scores:
        for text in score_contradictions(score, metrics.get(score.metric), record):
            yield f"{_named(score)} {text}"
    try:
        record_hits(record)
    except UserError as error:
        yield str(error)


@cache
def _shipped(name: str) -> str:
    return levels_hash(load_levels(name)) if name in SHIPPED else ""


def _named(score: ScoreFacts) -> str:
    shots = "" if score.shots is None else f" with {score.shots} shots"
    return f"{score.metric} of {score.probe}{shots}"


def _warnings(file: ResultsFile) -> Iterator[Finding]:
    """Warnings about implausible values, then notes on what was not checked or is not comparable with papers."""
    unlikely, notes = list[Finding](), list[Finding]()
    if any(names_a_place(text) for text in _texts(file)):
        yield Finding("warning", "", "the file contains a path of the machine it was written on; export the run again")
    for record in file.records:
        beside = comparison(record)
        unlikely += [Finding("warning", _where(record), text) for text in (*_unlikely(record), *beside.unlikely)]
        notes += [Finding("note", _where(record), text) for text in _unchecked(record)]
        if beside.refused:
            notes.append(Finding("note", _where(record), beside.refused))
    for number, text in enumerate(file.studies, 1):
        notes += _study_notes(f"study {number}", text)
    yield from _together([*unlikely, *_level_order(file.records)])
    yield from _together(notes)


def _study_notes(name: str, text: str) -> Iterator[Finding]:
    """How a study differs from the shipped one that it follows."""
    study = study_of(text, name, name)
    for each in differences_from_shipped(study) or ():
        was = f"{each.first} in {study.based_on}"
        yield Finding("note", name, f"{each.key} is {each.second}, {was}")


def _texts(file: ResultsFile) -> set[str]:
    """Every text in a file, each once."""
    texts, left = set[str](), list[Any]([file])
    while left:
        value = left.pop()
        if isinstance(value, str):
            texts.add(value)
        elif isinstance(value, Mapping):
            left += value
            left += [each for each in value.values() if type(each) not in NUMBERS]
        elif isinstance(value, list | tuple):
            left += [each for each in value if type(each) not in NUMBERS]
        elif is_dataclass(value):
            left += [each for each in vars(value).values() if type(each) not in NUMBERS]
    return texts


def _unlikely(record: ResultRecord) -> Iterator[str]:
    by: dict[tuple[str, str], dict[int | None, float]] = {}
    own = own_metrics(record)
    for score in record.scores:
        if score.metric not in METRICS and score.metric not in own:
            yield f"{_named(score)} has a metric that this version of unseen does not know"
        by.setdefault((score.probe, score.metric), {})[score.shots] = score.value
        seeds = {*score.seeds}
        missing = next(seed for seed in range(len(seeds) + 1) if seed not in seeds)
        if missing < max(seeds):
            yield f"{_named(score)} has no value for the seed {missing}; is the run finished?"
    for stated in stated_settings(record):
        if stated.missing:
            names = named_settings(stated.missing)
            yield f"of the settings of {record.protocol}, the record does not state {names} for {stated.probe}"
        if stated.unknown:
            names = named_settings(stated.unknown)
            yield f"the settings of {stated.probe} contain {names}, which {record.protocol} does not have"
    chance = 1 / record.data.classes if record.data.classes else 0
    for (probe, metric), values in by.items():
        for shots, value in values.items():
            with_shots = f"with {shots_name(shots)} shots"
            if metric == "top1" and value < 0.9 * chance:
                yield f"{metric} of {probe} {with_shots} is {value:.2%}, below chance ({chance:.2%})"
            top5 = by.get((probe, "top5"), {}).get(shots)
            if metric == "top1" and top5 is not None and top5 < value - ROUNDING:
                yield f"top1 of {probe} {with_shots} is {value:.2%}, above its top5 of {top5:.2%}"
        yield from _more_is_worse(probe, metric, values)
    if record.backbone.digest is None and record.backbone.classifier is None:
        yield "the record does not identify the weights: `digest` is null"


def _unchecked(record: ResultRecord) -> Iterator[str]:
    own = own_metrics(record)
    if own:
        verb = "is a metric" if len(own) == 1 else "are metrics"
        yield f"{', '.join(own)} {verb} of the author's own: only ranges and means were checked"
    for probe, settings in record.settings.items():
        unknown = record.protocol and named(probe, record.protocol) is None
        if unknown and probe not in own and "code" not in settings:
            yield f"this installation does not know the settings of {record.protocol}, which were not checked"


def _more_is_worse(probe: str, metric: str, values: dict[int | None, float]) -> Iterator[str]:
    facts = METRICS.get(metric)
    if facts is None or facts.unit != "share" or not facts.higher_is_better:
        return
    order = sorted(values, key=lambda shots: shots or float("inf"))
    for fewer, more in pairwise(order):
        if values[fewer] > values[more] + FEWER_BETTER:
            yield (
                f"{metric} of {probe} is {values[fewer]:.1%} with {shots_name(fewer)} shots, but only "
                f"{values[more]:.1%} with {shots_name(more)}"
            )


def _level_order(records: Sequence[ResultRecord]) -> Iterator[Finding]:
    """Warn if L5 is easier than L1, which is not so for any published model on ImageNet-CoG."""
    by: dict[tuple[str, str, str, int | None], dict[str, float]] = {}
    for record in records:
        for score in record.scores:
            if record.data.published and record.data.name in LEVELS and score.metric == "top1":
                setting = record.backbone.name, record.protocol, score.probe, score.shots
                by.setdefault(setting, {})[record.data.name] = score.value
    for (backbone, protocol, probe, shots), values in by.items():
        if {"l1", "l5"} <= values.keys() and values["l5"] > values["l1"]:
            yield Finding(
                "warning", f"{backbone}, {protocol}",
                f"{probe} with {shots_name(shots)} shots has {values['l5']:.1%} on L5, above {values['l1']:.1%} on "
                "L1; for every published model it is below",
            )  # fmt: skip


def _together(findings: Sequence[Finding]) -> Iterator[Finding]:
    """One finding per text, with the first record it is about and the number of other records."""
    by: dict[str, list[Finding]] = {}
    for each in findings:
        by.setdefault(each.text, []).append(each)
    for text, same in by.items():
        more = f" and {len(same) - 1:,} more" if len(same) > 1 else ""
        yield Finding(same[0].severity, same[0].where + more, text)
