"""Probes that are not in the paper, and probes and metrics of the user's own, by data set."""

from unseen.probes.by_name.spectrum import Spectrum
from unseen.probes.own import OWN
from unseen.report.core.discover import PageSection
from unseen.report.core.metric_words import TRAINED_ON, metric_words, probe_words
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.core.own_code import NOTE, code_table, own_metrics
from unseen.report.tasks.page_data import TaskPage
from unseen.runs.data import known_metrics
from unseen.runs.score import Score, shots_name
from unseen.runs.seed_means import deviation, each_seed, seeds_text
from unseen.runs.tables import number_text, percent_text

CAPTION = "Further probes and metrics; shares in percent"
COLUMNS = (
    Column("Backbone", number=False, names=("backbone",)),
    Column("Data set", number=False, names=("dataset",)),
    Column("Probe", number=False, names=("probe",)),
    Column("Shots", names=("shots",)),
    Column("Metric", number=False, names=("metric",)),
    Column("Value", "percent for metrics that are shares", names=("value", "deviation")),
)
SEEDS = Column("Seeds", "± is the standard deviation over them", names=("seeds",))
OWN_COLUMN = Column("Your own", "which of the two is your own code", number=False, names=("own",))
FOLDED = 60
"""Rows from which the table is closed at first."""
FURTHER = "These probes are not in the paper, so that there are no published numbers for them."


def build(page: TaskPage) -> Section | None:
    """All their scores in one table, and a table of the user's own code if there is some."""
    if not _shown(page):
        return None
    tables = [further_table(page), *([code_table(page.own_code)] if page.own_code else [])]
    note = NOTE if page.own_code else FURTHER
    return Section("further-probes", "Further probes and metrics", note=note, tables=tables)


def further_table(page: TaskPage) -> Table:
    """One row per mean over seeds; if there is own code, it says whether the probe or the metric is the user's."""
    known, titles = known_metrics(page.own_code), {dataset.name: dataset.title for dataset in page.datasets}
    metrics = {each.probe for each in own_metrics(page.own_code)}
    probes = {score.probe for score in _shown(page) if score.protocol == OWN}
    rows, several = [], bool(seeds_text(_shown(page)))
    for score in _shown(page):
        share = score.metric in known and known[score.metric].unit == "share"
        spread, seeds = deviation(score), len(each_seed(score))
        text = (percent_text if share else number_text)(score.value, spread)
        yours = {"probe": score.probe in probes, "metric": score.metric in metrics}
        own = Cell(" and ".join(name for name, is_own in yours.items() if is_own) or "–")
        text += TRAINED_ON if (score.backbone, score.domain) in page.trained_on else ""
        cells = [
            Cell(score.backbone),
            Cell(titles.get(score.domain, score.domain), (score.domain,)),
            Cell(score.probe if yours["probe"] else probe_words(score.probe), (score.probe,)),
            Cell(shots_name(score.shots)),
            Cell(metric_words(score.metric), (score.metric,)),
            Cell(text, (score.value, spread), style="main"),
            *([Cell(str(seeds), (seeds,))] if several else []),
            *([own] if page.own_code else []),
        ]
        rows.append(Row(cells, backbone=score.backbone))
    columns = (*COLUMNS, *([SEEDS] if several else []), *([OWN_COLUMN] if page.own_code else []))
    caption = f"{CAPTION}, mean ± standard deviation over seeds" if several else CAPTION
    if any((score.backbone, score.domain) in page.trained_on for score in page.further_scores):
        caption += f"; {TRAINED_ON} trained on this data set"
    folded = f"All {len(rows)} scores of further probes" if len(rows) > FOLDED else ""
    return Table("further-scores", columns, rows, caption=caption, sortable=True, folded=folded)


def _shown(page: TaskPage) -> list[Score]:
    """The scores without those of spectra, whose section says how many images they are of."""
    return [score for score in page.further_scores if score.probe != Spectrum.name]


SECTION = PageSection("tasks", 90, build)
