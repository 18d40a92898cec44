"""Export a run as records: everything that others need to read its scores, and no paths of this machine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import UserError, look_up
from unseen.exchange.hits import exported_hits
from unseen.exchange.model_card import CARDS, write_model_card
from unseen.exchange.places import without_places
from unseen.exchange.record import (
    SCHEMA,
    VERSION,
    BackboneFacts,
    DataFacts,
    ImageSource,
    Interval95,
    Levels,
    Made,
    ResultRecord,
    ResultsFile,
    ScoreFacts,
    Splits,
    Told,
)
from unseen.features.about import BackboneAbout
from unseen.files import write_text
from unseen.metrics.correlation import NORMAL_975
from unseen.papers.comparability import PLAIN, ScoredData
from unseen.probes.own import OWN_METRIC
from unseen.reading.json_records import json_text, plain, typed
from unseen.reading.keys import toml_value
from unseen.runs.cautions import Caution
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.notices import NOT_LOGGED, Notice
from unseen.runs.results import reading_result
from unseen.runs.score import Score, shots_name
from unseen.runs.setup import Extraction, Setting
from unseen.runs.tables import LOGISTIC, bootstrap_interval
from unseen.studies.differences import setting_values, values_in_toml
from unseen.studies.lost_packages import LostPackageError
from unseen.studies.study_file import studies_in
from unseen.studies.toml import read_study, study_of
from unseen.version import __version__

SCALARS = (str, int, float, bool)
FLAW = "flaw"
"""The code of a notice about damaged images or rows of zeros."""


def export_runs(
    folders: Sequence[Path], out: Path, *, backbones: Iterable[str] = (), hits: bool = False
) -> ResultsFile:
    """Write the records of runs into a file, or their scores for a model card, and return the records.

    The same runs give the same bytes.

    Args:
        backbones, hits: as for `results_of_runs`.
    """
    if out.suffix not in (".json", *CARDS):
        raise UserError(
            f"{out}: results are written as .json, and for a model card as .yaml, or as .md with the --- lines around "
            "them"
        )
    if hits and out.suffix in CARDS:
        raise UserError(f"{out}: a model card has no hits; write a results file (.json) for them")
    file = results_of_runs(folders, backbones=backbones, hits=hits)
    if out.suffix in CARDS:
        write_model_card(file, out)
    else:
        write_results(file, out)
    return file


def results_of_runs(folders: Sequence[Path], *, backbones: Iterable[str] = (), hits: bool = False) -> ResultsFile:
    """The records of runs, with their studies.

    Args:
        backbones: names of the backbones to export; by default all.
        hits: also export which test images are classified correctly.
    """
    from unseen.runs.record import read_runs

    by_run = []
    for folder, data in zip(folders, read_runs(folders), strict=True):
        by_run.append((folder, run_records(data, folder, hits=hits)))
        if not by_run[-1][1]:
            raise UserError(f"{folder}: no scores yet; finish the run")
    known = {record.backbone.name: True for _, of_run in by_run for record in of_run}
    wanted = {name for name in backbones if look_up(known, name, "backbone", " in these runs")} or {*known}
    records: dict[tuple[str, ...], tuple[Path, ResultRecord]] = {}
    for folder, record in ((folder, record) for folder, of_run in by_run for record in of_run):
        if record.backbone.name not in wanted:
            continue
        first, kept = records.setdefault(record.key, (folder, record))
        if kept is not record:
            raise UserError(
                f"{first} and {folder} both have {record.backbone.name} on {record.data.name} under "
                f"{record.protocol}; export each run into its own file"
            )
    studies = [_study_text(path) for folder in folders for path in studies_in(folder)]
    settings = [_written_settings(text, f"study {number}") for number, text in enumerate(studies, 1)]
    return ResultsFile(SCHEMA, VERSION, __version__, [record for _, record in records.values()], studies, settings)


def _study_text(path: Path) -> str:
    """A study as TOML, without paths of this machine."""
    try:
        study = read_study(path)
    except LostPackageError:  # the file of a run has every setting already
        return str(without_places(path.read_text("utf-8-sig")))
    files = {Path(place).name: digest for place, digest in study.files.items()}
    return str(without_places(replace(study, files=files).to_toml()))


def study_settings(text: str, name: str) -> dict[str, Setting]:
    """Every setting of a study in TOML by its place, such as `knn.k`."""
    return _as_settings(setting_values(study_of(text, name, name)))


def _written_settings(text: str, name: str) -> dict[str, Setting]:
    """The settings that a study of a run has, also where it needs a package that is not installed."""
    try:
        return study_settings(text, name)
    except UserError:
        return _as_settings(values_in_toml(text))


def _as_settings(values: Mapping[str, Any]) -> dict[str, Setting]:
    return {
        place: value if isinstance(value, SCALARS) or _is_plain(value) else toml_value(value)
        for place, value in values.items()
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, SCALARS) for each in value)


def write_results(file: ResultsFile, out: Path) -> None:
    """Write records as a results file."""
    write_text(out, json_text(plain(file)) + "\n")


def run_records(data: RunData, folder: Path | None = None, *, hits: bool = False) -> list[ResultRecord]:
    """One record per backbone, protocol and domain with scores, without paths of this machine.

    Args:
        folder: folder of the run. Of test sets of shifts, only the results have the numbers of images and classes.
        hits: with the test images that are classified correctly.
    """
    data = _with_counts(data, folder) if folder and "shifts" in data.axes else data
    grouped: dict[tuple[str, str, str], list[Score]] = {}
    for score in data.scores:
        grouped.setdefault((score.backbone, score.protocol, score.domain), []).append(score)
    backbones = {each.name: each for each in data.backbones}
    domains = {each.name: each for each in data.domains}
    scored = {(each.backbone, each.domain): each for each in data.scored}
    features = {(each.backbone, each.domain): each.keys for each in data.features}
    return [
        _placeless(
            ResultRecord(
                domains[domain].axis,
                protocol,
                _settings(data, scores, protocol),
                _backbone(backbones[backbone]),
                _data(data, domains[domain], scored.get((backbone, domain)), features.get((backbone, domain), {})),
                _scores(data, scores, _test_images(scored.get((backbone, domain)))),
                _made(data, scores),
                record_notices(data, backbone, domains[domain]),
                exported_hits(data, scores) if hits else [],
            )
        )
        for (backbone, protocol, domain), scores in grouped.items()
    ]


def _with_counts(data: RunData, folder: Path) -> RunData:
    """A run with the numbers of images and classes of test sets of shifts, from its results."""
    from unseen.runs.record import read_results
    from unseen.runs.scores import results_on

    shifts = data.on_axes("shifts")
    names = {domain.name for domain in shifts.domains}
    scored = [each for each in data.scored if each.domain not in names]
    for result in results_on(shifts, read_results(folder)):
        with reading_result(result):
            job, images = result.job, {"test": int(result.details["tested"])}
            classes = int(result.details["classes"])
            scored.append(ScoredData(job["backbone"], job["dataset"], result.protocol, classes, images, "given"))
    return replace(data, scored=scored)


def _placeless(record: ResultRecord) -> ResultRecord:
    placeless: ResultRecord = typed(without_places(plain(record)), ResultRecord, "a record")
    return placeless


def _settings(data: RunData, scores: Sequence[Score], protocol: str) -> Mapping[str, Mapping[str, Setting]]:
    """The settings of the protocols of probes, and the facts about the user's own metrics, that scores have.

    A variant of a probe (`pca-32`) is found by the name of its protocol.
    """
    probes, metrics = {score.probe for score in scores}, {score.metric for score in scores}
    return {
        each.probe: each.settings
        for each in data.protocols
        if each.probe in probes or each.name == protocol or (each.name == OWN_METRIC and each.probe in metrics)
    }


def _backbone(backbone: Backbone) -> BackboneFacts:
    made = backbone.features or Extraction(backbone.finetuning or BackboneAbout())
    about = made.backbone
    return BackboneFacts(
        name=backbone.name,
        id=about.id,
        category=backbone.category,
        description=backbone.description,
        weights=about.weights,
        digest=about.digest or None,
        classifier=backbone.classifier,
        layer=about.layer,
        pool=about.pool,
        dimension=about.dimension,
        parameters=about.parameters,
        preprocessing=about.transform,
        precision=made.precision,
        decoder=None if made.decode is None else "cpu" if made.decode == "cpu" else "gpu",
        resizer=None if made.fast is None else "pytorch" if made.fast else "pillow",
        exif=made.exif,
        training_data=backbone.training_data,
        imagenet_top1=backbone.imagenet_top1,
        finetuned=backbone.finetuning is not None,
        cautions=[as_told(each) for each in backbone.cautions],
    )


def as_told(notice: Caution | Notice) -> Told:
    """A notice or a caution as records have it."""
    return Told(notice.code, dict(notice.arguments), notice.sentence if isinstance(notice, Notice) else notice.text)


def _data(data: RunData, domain: Domain, scored: ScoredData | None, features: Mapping[str, str]) -> DataFacts:
    of_levels = data.levels is not None and not domain.seen
    splits = data.splits if of_levels else None
    return DataFacts(
        name=domain.name,
        title=domain.title,
        seen=domain.seen,
        similarity=domain.similarity,
        shifted=domain.shifted,
        classes=(scored.classes if scored else domain.classes or len(domain.concepts)) or None,  # depths have none
        images=scored.images if scored else {},
        draw=scored.draw if scored else "unknown",
        variant=scored.variant if scored else PLAIN,
        limit=scored.limit if scored and scored.limit is not None else domain.limit,
        licence=domain.licence,
        levels=Levels(data.levels.name, data.levels.hash) if data.levels else None,
        splits=Splits(splits.seed, splits.test, splits.max_train, splits.hash) if splits else None,
        sources=[
            ImageSource(each.split, each.images, each.release, each.blurred, each.hash, each.fingerprint)
            for each in data.images
            if each.domain == domain.name or (each.pool and of_levels)
        ],
        features=features,
        published=data.published,
    )


def _test_images(scored: ScoredData | None) -> int | None:
    return scored.images.get("test") if scored else None


def _scores(data: RunData, scores: Sequence[Score], images: int | None) -> list[ScoreFacts]:
    """Mean scores with all known intervals.

    Args:
        images: number of test images, if known.
    """
    grouped: dict[tuple[str, int | None, str], dict[int, Score]] = {}
    for score in scores:
        grouped.setdefault((score.probe, score.shots, score.metric), {})[score.seed] = score
    facts = []
    for (probe, shots, metric), by_seed in grouped.items():
        values = [by_seed[seed].value for seed in sorted(by_seed)]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        intervals = [*_intervals(data, by_seed, values)]
        if not intervals and metric == "top1" and images:
            intervals = [over_images(values[0], images)]
        facts.append(
            ScoreFacts(probe, shots, metric, float(np.mean(values)), spread, sorted(by_seed), values, intervals)
        )
    return facts


def _intervals(data: RunData, by_seed: Mapping[int, Score], values: Sequence[float]) -> Iterable[Interval95]:
    first = next(iter(by_seed.values()))
    if len(values) > 1:
        yield Interval95("seeds", *bootstrap_interval(values))
    elif first.low is not None and first.high is not None:
        yield Interval95("episodes", first.low, first.high)
    if (first.probe, first.metric) == (LOGISTIC, "top1"):
        over = data.concept_intervals.get((first.backbone, first.domain, shots_name(first.shots)))
        if over:
            yield Interval95("concepts", over.low, over.high)


def over_images(share: float, images: int) -> Interval95:
    """Wilson's 95% interval of an accuracy p over n images: (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n)."""
    z = NORMAL_975
    spread = z * sqrt(share * (1 - share) / images + (z / (2 * images)) ** 2)
    middle, scale = share + z**2 / (2 * images), 1 + z**2 / images
    return Interval95("images", max((middle - spread) / scale, 0.0), min((middle + spread) / scale, 1.0))


def _made(data: RunData, scores: Sequence[Score]) -> Made:
    versions: dict[str, list[str]] = {}
    for score in scores:
        for package, version in score.versions.items():
            versions.setdefault(package, []).append(version)
    jobs = {score.key: score.seconds for score in scores}
    written = data.written
    return Made(
        written.first if written else "",
        written.last if written else "",
        {package: ", ".join(dict.fromkeys(used)) for package, used in versions.items()},
        written.device if written else "",
        sum(jobs.values()),
    )


def record_notices(data: RunData, backbone: str, domain: Domain) -> list[Told]:
    """The notices about the scores of the run, this backbone and this domain, and the flaws of their data."""
    told = [
        as_told(each)
        for each in data.told
        if each.code != NOT_LOGGED
        and each.domain in {"", domain.name}
        and dict(each.arguments).get("backbone", backbone) == backbone
    ]
    flaws = [each for each in data.flaws if (each.backbone, each.domain) == (backbone, domain.name)]
    return [*told, *(Told(FLAW, {"kind": f.kind, "count": f.count, "total": f.total}, f"{f.text}.") for f in flaws)]
