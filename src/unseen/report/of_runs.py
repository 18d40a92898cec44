"""`unseen.report` and `unseen report`: the page of any mix of runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.extras import naming_extras

if TYPE_CHECKING:
    from unseen.report.core.model import Page
    from unseen.report.shifts.page_data import ShiftPage
    from unseen.runs.data import RunData, Study
    from unseen.studies.axes.page_data import AxesPage
    from unseen.studies.concepts.comparison import PairComparison
    from unseen.studies.tasks.page_data import TaskPage


@dataclass(frozen=True)
class Reported:
    """A page, what it was made from, and the pair of backbones that was asked for."""

    page: "Page"
    source: "RunData | TaskPage | ShiftPage | AxesPage"
    pair: "PairComparison | None" = None


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
    from unseen.report.core.render import write_page

    folders = [Path(run) for run in ([runs] if isinstance(runs, str | PathLike) else runs)]
    if not folders:
        raise UserError("no runs to report on; give the folder of one, or several")
    id_sets, ood_sets = ([names] if isinstance(names, str) else list(names) for names in (id, ood))
    write_page(report_on(folders, id_sets=id_sets, ood_sets=ood_sets).page, Path(out))
    return Path(out)


def report_on(
    folders: Sequence[Path],
    *,
    shifts: Path | None = None,
    published: bool = False,
    axes: bool = False,
    compare: tuple[str, str] | None = None,
    shots: int | None = None,
    id_sets: Sequence[str] = (),
    ood_sets: Sequence[str] = (),
) -> Reported:
    """The page of runs: that of their study, or across axes.

    Args:
        shifts: what `unseen shifts fit` wrote, for the page across axes.
        published: whether the page across axes has the models of two papers.
        axes: whether runs of one study make the page across axes too.
        compare: two backbones whose comparison, image by image, comes first, with so many `shots`; None for all.
        id_sets, ood_sets: of runs of shifts, the columns to fit; none for those that the test sets tell.
    """
    studies = page_studies(folders)
    if (id_sets or ood_sets) and studies != {"shifts"}:
        raise UserError("--id and --ood are for runs of shifts alone (unseen shifts run)")
    if compare is None and (axes or shifts or published or len(studies) > 1):
        from unseen.report.axes.page import axes_page
        from unseen.studies.axes.study import study_axes

        across = study_axes(folders, shifts, published=published)
        return Reported(axes_page(across), across)
    if compare is None and studies == {"shifts"}:
        from unseen.report.shifts.of_runs import page_of_runs as page_of_shift_runs
        from unseen.report.shifts.page import shift_page

        shown = page_of_shift_runs(folders, id_sets, ood_sets)
        return Reported(shift_page(shown), shown)
    from unseen.runs.merge import merge_runs
    from unseen.runs.record import read_runs

    named = [(folder.resolve().name, data) for folder, data in zip(folders, read_runs(folders), strict=True)]
    pair = _pair(folders, compare, shots) if compare else None
    data = merge_runs(named)
    if data.study == "tasks":
        from unseen.report.tasks.page import task_page
        from unseen.studies.tasks.results import page_of_runs

        tasks = page_of_runs(folders, named)
        return Reported(task_page(tasks), tasks)
    from unseen.report.concepts.page import concept_page
    from unseen.studies.concepts.comparison import compare_with_baseline

    pairs = [*filter(None, [pair]), *compare_with_baseline(folders, data, pair)]
    return Reported(concept_page(data, pairs), data, pair)


def page_studies(folders: Sequence[Path]) -> "set[Study]":
    """The studies whose pages runs go on: features that were probed alone go on that of concepts."""
    from unseen.runs.record import read_record
    from unseen.studies.axes.sources import refuse_fit

    for folder in folders:
        refuse_fit(folder)
    studies = (read_record(folder)[0].study for folder in folders)
    return {"concepts" if study == "probe" else study for study in studies}


def _pair(folders: Sequence[Path], names: tuple[str, str], shots: int | None) -> "PairComparison":
    from unseen.studies.concepts.comparison import PairComparison, compare_backbones

    return PairComparison(*names, shots, tuple(compare_backbones(folders, *names, shots=shots)))
