"""Tables of fine-tuning: test scores by data set; calibration errors, with the published means beside them."""

from unseen.papers.transfer import FINETUNED_ECE, FINETUNED_SCALED_ECE, task_setting
from unseen.report.core.model import Cell, Column, Table
from unseen.report.tasks.tables import OVER_TEN, backbone_row, best_two, score_column
from unseen.studies.tasks.finetune_data import FinetunePage

CALIBRATIONS = {FINETUNED_ECE: "as trained", FINETUNED_SCALED_ECE: "after temperature scaling"}
BACKBONE = Column(number=False, names=("backbone",))


def finetune_tables(page: FinetunePage) -> list[Table]:
    """All tables."""
    return [finetuned_table(page), *calibration_tables(page)]


def finetuned_table(page: FinetunePage) -> Table:
    """Test scores by data set."""
    score = {(each.backbone, each.title): each.scores[0].value for each in page.tuned}
    marks = {
        (name, title): mark
        for title in page.datasets
        for name, mark in best_two({n: score[n, title] for n in page.backbones if (n, title) in score}).items()
    }
    rows = [
        backbone_row(name, [_cell(score.get((name, title)), marks.get((name, title), "")) for title in page.datasets])
        for name in page.backbones
    ]
    columns = [BACKBONE, *(score_column(title, title) for title in page.datasets)]
    return Table("fine-tuned", columns, rows, "Fine-tuned, each data set's own metric, percent", head=True)


def calibration_tables(page: FinetunePage) -> list[Table]:
    """Expected calibration errors, as trained and after temperature scaling."""
    return [_calibration_table(page, setting, words) for setting, words in CALIBRATIONS.items()]


def _calibration_table(page: FinetunePage, setting: str, words: str) -> Table:
    found = {
        (each.backbone, each.title): s.value for each in page.tuned for s in each.scores if task_setting(s) == setting
    }
    own = {s.backbone: s.value for s in page.means if task_setting(s) == setting}
    printed = [s for s in page.published if task_setting(s) == setting]
    over_ten = [OVER_TEN] if own or printed else []
    rows = [
        backbone_row(
            name,
            [*(_cell(found.get((name, title))) for title in page.datasets), *(_cell(own.get(name)) for _ in over_ten)],
        )
        for name in page.backbones
    ]
    rows += [
        backbone_row(s.backbone, [*(Cell() for _ in page.datasets), _cell(s.value)], published=True) for s in printed
    ]
    columns = [BACKBONE, *(score_column(title, title) for title in [*page.datasets, *over_ten])]
    return Table(setting, columns, rows, f"Expected calibration error in percent, {words}", head=True)


def _cell(value: float | None, mark: str = "") -> Cell:
    return Cell() if value is None else Cell(f"{100 * value:.2f}", (value,), style=mark)
