"""`unseen.report`: the page of runs, by their folders."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.extras import naming_extras

if TYPE_CHECKING:
    from unseen.runs.data import Study


@naming_extras()
def report(
    runs: str | PathLike[str] | Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    *,
    id: str | Sequence[str] = (),  # noqa: A002  (what the field calls it)
    ood: str | Sequence[str] = (),
) -> Path:
    """Write the page of one run or several: several of one study are compared, and those of different studies share
    the page across axes.

    Args:
        runs: folders of runs, as the commands write them, or runs by `unseen.concepts`, `tasks` and `shifts`.
        out: the page, a file with the ending .html.
        id, ood: of runs of shifts alone, the columns to fit effective robustness on; by default those that the test
            sets and their classes tell.

    Returns:
        Where the page is.

    Example:
        >>> unseen.report(["resnet50-run", "mine-run"], "page.html")
    """
    from unseen.report.axes.page import write_axes_page
    from unseen.report.concepts.page import write_report
    from unseen.report.shifts.of_runs import page_of_runs as page_of_shift_runs
    from unseen.report.shifts.page import write_shift_page
    from unseen.report.tasks.page import write_task_page
    from unseen.runs.merge import merge_runs
    from unseen.runs.record import read_run
    from unseen.studies.axes.study import study_axes
    from unseen.studies.tasks.results import page_of_runs

    folders = [Path(run) for run in ([runs] if isinstance(runs, str | PathLike) else runs)]
    if not folders:
        raise UserError("no runs to report on; give the folder of one, or several")
    page, named = Path(out), [(folder.resolve().name, read_run(folder)) for folder in folders]
    studies = {page_study(data.study) for _, data in named}
    id_sets, ood_sets = ([names] if isinstance(names, str) else list(names) for names in (id, ood))
    if (id_sets or ood_sets) and studies != {"shifts"}:
        raise UserError("id and ood are for runs of shifts alone")
    if len(studies) > 1:
        write_axes_page(study_axes(folders), page)
    elif studies == {"shifts"}:
        write_shift_page(page_of_shift_runs(folders, id_sets, ood_sets), page)
    elif studies == {"tasks"}:
        write_task_page(page_of_runs(folders, named), page)
    else:
        write_report(merge_runs(named), page)
    return page


def page_study(study: "Study") -> "Study":
    """The study whose page a run goes on: features that were probed alone go on that of concepts."""
    return "concepts" if study == "probe" else study
