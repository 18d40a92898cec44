"""Tables of dense tasks: one per data set and probe, with the published models if they are comparable."""

import re

from unseen.papers.dense_settings import METRIC_TITLES, PROBE_TITLES, TRAINED, column_text, column_title
from unseen.papers.transfer import SOURCE
from unseen.probes.by_name import patch_probes
from unseen.report.core.model import Cell, Column, Row, Table
from unseen.report.tasks.dense_data import DenseProbe, DenseTask
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.tables import backbone_row
from unseen.runs.score import Score
from unseen.runs.seed_means import deviation

WHAT = {
    "detector-frozen": "Faster R-CNN with a feature pyramid; only the last stage of the backbone is trained",
    "detector-finetuned": "Faster R-CNN with a feature pyramid; the whole backbone is trained, except its batch norms",
    "psp": "a pyramid pooling head on the frozen backbone",
    "upernet": "UPerNet; the whole backbone is trained",
    "detector-frozen-extended": (
        "Faster R-CNN on the feature maps of another CNN with its last stage trained, or with a simple feature pyramid "
        "(Li et al. 2022) on a frozen network with maps of one resolution"
    ),
    "detector-finetuned-extended": "Faster R-CNN with a simple feature pyramid (Li et al. 2022); everything is trained",
    "psp-extended": "a pyramid pooling head on the last map of a frozen backbone, of stride 8 or dilated to it",
    "upernet-extended": "UPerNet with a simple feature pyramid (Li et al. 2022); everything is trained",
    **{name: probe.title for name, probe in patch_probes().items()},
}
assert WHAT.keys() == PROBE_TITLES.keys()


def slug(text: str) -> str:
    """The text in small letters and hyphens, for addresses and files."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-") or "data"


def dense_tables(page: TaskPage) -> list[Table]:
    """The tables of all dense tasks of a page."""
    return [probe_table(page, task, probe) for task in page.dense for probe in task.probes]


def probe_table(page: TaskPage, task: DenseTask, probe: DenseProbe) -> Table:
    """The backbones of the run, and the paper's 14 models if they are comparable; every column has its unit."""
    own = {result.backbone: {score.metric: score for score in result.scores} for result in probe.results}
    printed: dict[str, dict[str, Score]] = {}
    for score in page.scores if probe.beside else ():
        if score.source == SOURCE and (score.probe, score.domain) == (probe.probe, task.name):
            printed.setdefault(score.backbone, {})[score.metric] = score
    metrics = list(dict.fromkeys(metric for of in own.values() for metric in of))
    rows = [
        backbone_row(name, [_cell(of.get(metric)) for metric in metrics], published=published)
        for published, models in ((False, own), (True, printed))
        for name, of in models.items()
    ]
    columns = [Column(column_title(metric), names=(metric, f"{metric} ±")) for metric in metrics]
    caution = [TRAINED[probe.probe].caution] if probe.beside else []
    return Table(
        f"{slug(task.name)}-{slug(probe.protocol)}", [Column(number=False, names=("backbone",)), *columns], rows,
        " ".join([f"{task.title[:1].upper()}{task.title[1:]}. {probe.title}.", *probe.said]), head=True,
        note=" ".join(filter(None, [f"{probe.protocol}: {WHAT[probe.probe]}.", *caution])),
    )  # fmt: skip


def _cell(score: Score | None) -> Cell:
    if score is None:
        return Cell()
    spread = deviation(score)
    small = "" if spread is None else f"± {column_text(score.metric, spread)}"
    return Cell(column_text(score.metric, score.value), (score.value, spread), small=small)


def class_table(task: DenseTask, probe: DenseProbe) -> Table:
    """Every class, in the data set's order, in percent."""
    names = [result.backbone for result in probe.results]
    rows = [
        Row([Cell(name), *(_share(result.by_class[place]) for result in probe.results)])
        for place, name in enumerate(task.classes)
    ]
    return Table(
        f"{slug(task.name)}-{slug(probe.protocol)}-classes",
        [Column("class", number=False), *(Column(name) for name in names)], rows,
        f"{probe.title}: {class_metric(task)} of each class, percent", sortable=True, head=True,
        folded=f"{probe.title}: all {len(rows)} classes",
    )  # fmt: skip


def class_metric(task: DenseTask) -> str:
    """The metric of classes."""
    return METRIC_TITLES["ap"] if task.kind == "boxes" else "IoU"


def _share(value: float | None) -> Cell:
    return Cell() if value is None else Cell(column_text("miou", value), (value,))
