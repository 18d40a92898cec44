"""`unseen.report` and `unseen report`: the page of any runs."""

import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError, argument
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
    """A page, its data, and the requested comparison of two backbones."""

    page: "Page"
    source: "RunData | TaskPage | ShiftPage | AxesPage"
    pair: "PairComparison | None" = None


@naming_extras()
def report(
    runs: str | PathLike[str] | Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    *,
    compare: tuple[str, str] | None = None,
    shots: int | str = "all",
    shifts: str | PathLike[str] | None = None,
    published: bool = False,
    axes: bool = False,
    id: str | Sequence[str] = (),  # noqa: A002  (what the field calls it)
    ood: str | Sequence[str] = (),
    export: str | PathLike[str] | None = None,
    open: bool = False,  # noqa: A002  (the name of the option)
) -> Path:
    """Write the page of one or several runs.

    Several runs of one study are compared; runs of different studies share the page across axes.

    Args:
        runs: folders of runs, or runs returned by `unseen.concepts`, `tasks` and `shifts`; may be empty with
            `published` or `shifts`.
        out: the HTML file to write.
        compare: names of two backbones to compare on the same test images, with intervals and p-values.
        shots: training images per concept of this comparison: a number, or "all".
        shifts: make the page across axes with the results of `unseen shifts fit`: the folder, or its `models.csv`.
        published: make the page across axes with the published models.
        axes: make the page across axes even for runs of one study.
        id, ood: only for runs of shifts, the columns for the fit of effective robustness; by default derived from the
            test sets and their classes.
        export: folder to write all tables of the page to, as CSV and LaTeX, and all figures, as SVG and PNG.
        open: open the page in a browser.

    Returns:
        The path of the page.

    Example:
        >>> unseen.report(["resnet50-run", "mine-run"], "page.html", compare=("resnet50", "mine"))
    """
    from unseen.report.core.export import export_page
    from unseen.report.core.render import write_page
    from unseen.runs.shots import one_number_of_shots

    folders = [Path(run) for run in ([runs] if isinstance(runs, str | PathLike) else runs)]
    page = Path(out)
    if not folders and not published and shifts is None:
        raise UserError("no runs to report on; give the folder of at least one run")
    if compare is not None and (published or axes or shifts is not None or not folders):
        raise UserError(
            "two backbones are compared within their runs: give the runs, and leave out published, axes and shifts"
        )
    pair = None if compare is None else _two_names(compare)
    if compare is None and shots != "all":
        raise UserError("shots is the number of shots of a comparison; give compare too, or leave it out")
    if page.suffix != ".html":
        raise UserError(f"{page}: a page is a file that ends in .html")
    id_sets, ood_sets = ([names] if isinstance(names, str) else list(names) for names in (id, ood))
    found = report_on(
        folders, shifts=None if shifts is None else Path(shifts), published=published, axes=axes, compare=pair,
        shots=one_number_of_shots(shots), id_sets=id_sets, ood_sets=ood_sets,
    )  # fmt: skip
    write_page(found.page, page)
    if export is not None:
        export_page(found.page, Path(export))
    if open:
        webbrowser.open(page.resolve().as_uri())
    return page


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
    """The page of runs: that of their study, or the page across axes.

    Args:
        shifts: the output of `unseen shifts fit`, for the page across axes.
        published: whether the page across axes includes the models of two papers.
        axes: whether to make the page across axes also for runs of one study.
        compare: two backbones to compare image by image, shown first.
        shots: number of shots of this comparison; None for all samples.
        id_sets, ood_sets: for runs of shifts, the columns to fit; by default derived from the test sets.
    """
    studies = page_studies(folders)
    if (id_sets or ood_sets) and studies != {"shifts"}:
        raise UserError(f"{argument('id')} and {argument('ood')} are only for runs of shifts (unseen shifts run)")
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
    """The studies of some runs; runs of `unseen probe` use the page of concepts."""
    from unseen.runs.record import read_record
    from unseen.studies.axes.sources import refuse_fit

    for folder in folders:
        refuse_fit(folder)
    studies = (read_record(folder)[0].study for folder in folders)
    return {"concepts" if study == "probe" else study for study in studies}


def _two_names(compare: object) -> tuple[str, str]:
    """The names of two backbones, as Python gives them; anything else is an error."""
    match compare:
        case (str() as first, str() as second) if not isinstance(compare, str):
            return first, second
    raise UserError(f"compare is a pair of names of backbones, such as ('a', 'b'), not {compare!r}")


def _pair(folders: Sequence[Path], names: tuple[str, str], shots: int | None) -> "PairComparison":
    from unseen.studies.concepts.comparison import PairComparison, compare_backbones

    return PairComparison(*names, shots, tuple(compare_backbones(folders, *names, shots=shots)))
