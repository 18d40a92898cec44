"""`unseen.report`: the page of runs, by their folders."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from unseen.errors import UserError
from unseen.extras import naming_extras


@naming_extras()
def report(runs: str | PathLike[str] | Sequence[str | PathLike[str]], out: str | PathLike[str]) -> Path:
    """Write the page of one run or several: several of one study are compared, and those of different studies share
    the page across axes.

    Args:
        runs: folders of runs, as the commands write them, or runs by `unseen.concepts`.
        out: the page, a file with the ending .html.

    Returns:
        Where the page is.

    Example:
        >>> unseen.report(["resnet50-run", "mine-run"], "page.html")
    """
    from unseen.report.axes.page import write_axes_page
    from unseen.report.concepts.page import write_report
    from unseen.report.tasks.page import write_task_page
    from unseen.runs.merge import merge_runs
    from unseen.runs.record import read_run
    from unseen.studies.axes.study import study_axes
    from unseen.studies.tasks.results import page_of_runs

    folders = [Path(run) for run in ([runs] if isinstance(runs, str | PathLike) else runs)]
    if not folders:
        raise UserError("no runs to report on; give the folder of one, or several")
    page, named = Path(out), [(folder.resolve().name, read_run(folder)) for folder in folders]
    studies = {data.study for _, data in named}
    if studies == {"concepts", "tasks"}:
        write_axes_page(study_axes(folders), page)
    elif studies == {"tasks"}:
        write_task_page(page_of_runs(folders, named), page)
    else:
        write_report(merge_runs(named), page)
    return page
