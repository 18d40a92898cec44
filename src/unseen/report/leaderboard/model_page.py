"""The page of one contributed model: its scores, its cautions, and how its features were made."""

from collections.abc import Iterator, Sequence

from unseen.data.core.decoding.transform import Transform
from unseen.exchange.contributions import Contribution
from unseen.exchange.plausible import comparison, metric_text, published_range, verdict
from unseen.exchange.record import BackboneFacts, Made, ResultRecord, ScoreFacts
from unseen.papers.leaderboard import Entry
from unseen.report.core.metric_words import metric_words, probe_words
from unseen.report.core.model import Backbone, Cell, Column, Page, Row, Section, Table
from unseen.report.core.provenance import provenance_section
from unseen.runs.provenance import transform_text
from unseen.runs.score import shots_name
from unseen.text.words import counted

MOST_NAMED = 3
"""Sets of data that the findings name."""
TITLES = {"concepts": "Concepts", "tasks": "Tasks", "shifts": "Shifts", "probe": "Own features"}


def model_page(model: Contribution, entry: Entry | None, models: int, links: Sequence[tuple[str, str]]) -> Page:
    """The page of a model.

    Args:
        entry: its entry on the leaderboard; None if it is not ranked.
        models: number of models on the leaderboard.
        links: to other pages and files of the site.
    """
    cautions = dict.fromkeys(each.text for record in model.records for each in record.backbone.cautions)
    notices = dict.fromkeys(each.text for record in model.records for each in record.notices)
    studies = list(dict.fromkeys(record.study for record in model.records))
    data = dict.fromkeys((record.study, record.data.name) for record in model.records)
    return Page(
        title=model.name,
        sections=[
            *(_scores(study, [each for each in model.records if each.study == study]) for study in studies),
            Section("features", "How the features were made", facts=dict(_facts(model.backbone))),
            provenance_section(dict(_made(model))),
        ],
        facts=[model.origin, counted(len(data), "set of data"), *studies],
        notices=[*notices, *([f"Not a fair comparison with ResNet50: {'; '.join(cautions)}."] if cautions else [])],
        findings=[_rank(entry, models), *_best_known(model)],
        backbones=[Backbone(model.name, model.origin)],
        links=links,
    )


def _rank(entry: Entry | None, models: int) -> str:
    if entry is None:
        return "Not ranked on the leaderboard of ImageNet-CoG: it has no comparable results on all of its concepts."
    spread = f" (95% range over seeds: {entry.low} to {entry.high})" if entry.low != entry.high else ""
    return f"Rank {entry.rank} of {models}{spread} on the leaderboard of ImageNet-CoG."


def _best_known(model: Contribution) -> Iterator[str]:
    """The main score on each set of data, with the most training images, for a few of them."""
    for record in model.records[:MOST_NAMED]:
        if not record.scores:
            continue
        score = max(record.scores, key=lambda score: (score.shots is None, score.shots or 0))
        metric = metric_words(score.metric)
        shots = "all training images" if score.shots is None else f"{counted(score.shots, 'training image')} per class"
        yield (
            f"{record.data.title}: {metric} {metric_text(score.metric, score.value)}, {probe_words(score.probe)} with "
            f"{shots}."
        )
    if len(model.records) > MOST_NAMED:
        yield f"The tables have {len(model.records) - MOST_NAMED} more sets of data."


def _scores(study: str, records: Sequence[ResultRecord]) -> Section:
    columns = [
        Column("Data", number=False, names=("data",)),
        Column("Score", "with its 95% interval", names=("value", "low", "high")),
        Column("Metric", number=False, names=("metric",)), Column("Probe", number=False, names=("probe",)),
        Column("Images per class", "for training", names=("shots",)),
        Column("Published models", number=False, names=("published",)), Column("Seeds", names=("seeds",)),
        Column("Protocol", number=False, names=("protocol",)),
    ]  # fmt: skip
    rows = [_row(record, score) for record in records for score in record.scores]
    note = "The 95% intervals are over seeds and concepts if known, otherwise over seeds, episodes or test images."
    return Section(
        study, TITLES[study], note=note,
        tables=[Table(f"{study}-scores", columns, rows, sortable=True, filter="part of a name")],
    )  # fmt: skip


def _row(record: ResultRecord, score: ScoreFacts) -> Row:
    ends = score.intervals[-1] if score.intervals else None
    low, high = (ends.low, ends.high) if ends else (None, None)
    spread = f"{metric_text(score.metric, ends.low)} to {metric_text(score.metric, ends.high)}" if ends else ""
    beside = _beside(record, score)
    return Row(
        [
            Cell(record.data.title, (record.data.name,)),
            Cell(metric_text(score.metric, score.value), (score.value, low, high), small=spread, style="main"),
            Cell(metric_words(score.metric), (score.metric,)), Cell(probe_words(score.probe), (score.probe,)),
            Cell(shots_name(score.shots), (shots_name(score.shots),), order=score.shots or 1e9),
            Cell(beside, (beside,), style="text"), Cell(str(len(score.seeds)), (len(score.seeds),)),
            Cell(record.protocol),
        ]
    )  # fmt: skip


def _beside(record: ResultRecord, score: ScoreFacts) -> str:
    """The range of the published models on the same data, or why there is no comparison."""
    if verdict(record) is None:
        return "–"
    if refused := comparison(record).refused:
        return refused
    known = published_range(record, score)
    return f"{known.models} models: {known.text(score.metric)}" if known else "–"


def _facts(backbone: BackboneFacts) -> Iterator[tuple[str, str]]:
    seen = {"unknown": "unknown data", "web": "web data", "imagenet-21k": "ImageNet-21K"}
    known: list[tuple[str, object]] = [
        ("Backbone", backbone.id),
        ("Weights", backbone.weights),
        ("Tensors", backbone.digest and f"sha256:{backbone.digest}"),
        ("Layer", backbone.layer),
        ("Pooling", backbone.pool),
        ("Dimensions", backbone.dimension and f"{backbone.dimension:,}"),
        ("Parameters", backbone.parameters and f"{backbone.parameters:,}"),
        ("Images", backbone.preprocessing and transform_text(Transform(**vars(backbone.preprocessing)))),
        ("Decoded by", backbone.decoder and backbone.decoder.upper()),
        ("Resized by", backbone.resizer and {"pillow": "Pillow", "pytorch": "PyTorch"}[backbone.resizer]),
        ("Precision", backbone.precision),
        ("Trained with (beside ImageNet-1K)", None if backbone.training_data is None else ", ".join(
            seen.get(each, each) for each in backbone.training_data
        ) or "nothing"),
        ("Fine-tuned", "yes: the backbone itself was trained on the data" if backbone.finetuned else "no"),
    ]  # fmt: skip
    for label, text in known:
        yield label, str(text) if text else "not known"


def _made(model: Contribution) -> Iterator[tuple[str, str]]:
    yield "Files", ", ".join(model.places)
    yield from dict.fromkeys(_said(record.made) for record in model.records)


def _said(made: Made) -> tuple[str, str]:
    versions = ", ".join(f"{package} {version}" for package, version in made.versions.items())
    when = made.last[:10] or "date not known"
    return when, ", ".join(filter(None, [made.device, versions]))
