"""`unseen tasks --finetune`: backbones trained whole on the data sets of the task study."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table
from unseen.cli.running import carry_out

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone

PAGE = "fine-tuning.html"
TABLE = "fine-tuning.csv"


def finetune_tasks(
    out: Path,
    load: "Callable[[], list[Backbone]]",
    datasets: Sequence[str],
    images: Path | None,
    *,
    trials: int,
    steps: int,
    seed: int,
    device: str | None,
    workers: int,
    dry_run: bool,
) -> None:
    """Train what is missing and write the page, with what failed on it.

    Args:
        out: folder of the run; it may be that of a study of features.
        load: loads the backbones, after the data sets are known to be there.
    """
    from unseen.device import default_device
    from unseen.features.settings import Settings, checked_device
    from unseen.probes.finetuning.grid import finetune_grid
    from unseen.studies.tasks.finetune_request import FinetuneRequest, TrainingError
    from unseen.studies.tasks.opened import open_datasets

    grid = finetune_grid(trials=trials, steps=steps)
    place = checked_device(Settings(device=device or default_device().type))
    opened = open_datasets(datasets, images)
    request = FinetuneRequest(opened, load(), grid, place, seed)
    try:
        if carry_out(request, out, workers, dry_run=dry_run):
            _write(out, [])
    except TrainingError as error:
        if error.done:
            _write(out, error.failures)
        raise


def _write(out: Path, failures: Sequence[str]) -> None:
    """Write page and table, and print them in short.

    Args:
        failures: for the page alone, and not for the run: the next time they may not be.
    """
    import pandas as pd

    from unseen.report.finetuning.page import findings, write_finetune_page
    from unseen.report.finetuning.tables import finetune_tables
    from unseen.report.tasks.tables import score_row
    from unseen.runs.lock import folder_lock
    from unseen.runs.record import read_record
    from unseen.runs.tables import write_table
    from unseen.studies.tasks.finetune import finetune_page, finetuned_results

    with folder_lock(out):
        data, keys = read_record(out)
        said = [*(each.sentence for each in data.told), *(f"Failed: {line}." for line in failures)]
        page = finetune_page(data, finetuned_results(out, keys), said)
        write_finetune_page(page, out / PAGE)
        scores = [score_row(score) for each in page.tuned for score in each.scores]
        write_table(pd.DataFrame(scores), out / TABLE)
    for table in finetune_tables(page):
        rows = [[cell.text for cell in row.cells] for row in table.rows if row.style != "published"]
        titles = [column.title for column in table.columns[1:]]
        print_table(table.caption, ("backbone", *titles), rows, titles)
        console().print()
    for sentence in (*page.notices, *findings(page)):
        console().print(sentence)
    console().print(f"\nReport: {out / PAGE}\nScores: {out / TABLE}")
