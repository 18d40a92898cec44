"""`unseen.report` and `unseen report`: the page of any runs."""

import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unseen.errors import UserError, argument
from unseen.extras import naming_extras
from unseen.text.words import joined

if TYPE_CHECKING:
    from unseen.analyses.core.comparables import Comparables
    from unseen.analyses.paired import PairComparison
    from unseen.report.axes.page_data import AxesPage
    from unseen.report.core.model import Page
    from unseen.report.shifts.page_data import ShiftPage
    from unseen.report.tasks.page_data import TaskPage
    from unseen.runs.data import Axis, RunData

Kind = Literal["concepts", "tasks", "shifts"]
"""A kind of page."""
KINDS: "Mapping[Kind, Sequence[Axis]]" = {
    "concepts": ("concepts", "probe"), "tasks": ("tasks",), "shifts": ("shifts",),
}  # fmt: skip
"""Kind of page → what the data sets that it shows measure."""
REPORT = "report.html"
"""Name of the page in the folder of a run."""


@dataclass(frozen=True)
class Reported:
    """A page, its data, what can be compared in them, and the requested comparison of two backbones."""

    page: "Page"
    source: "RunData | TaskPage | ShiftPage | AxesPage"
    every: "Comparables | None" = None
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

    Runs on one axis (concepts, tasks or shifts) are compared; runs on several share the page across axes.

    Args:
        runs: folders of runs, or runs returned by `unseen.run`; may be empty with `published` or `shifts`.
        out: the HTML file to write.
        compare: names of two backbones to compare on the same test images, with intervals and p-values.
        shots: training images per concept of this comparison: a number, or "all".
        shifts: make the page across axes with the results of `unseen shifts fit`: the folder, or its `models.csv`.
        published: make the page across axes with the published models.
        axes: make the page across axes even for runs on one axis.
        id, ood: only for runs on test sets of shifts, the columns for the fit of effective robustness; by default
            derived from the test sets and their classes.
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
    pair = None if compare is None else _two_names(compare)
    if page.suffix != ".html":
        raise UserError(f"{page}: a page is a file that ends in .html")
    id_sets, ood_sets = ([names] if isinstance(names, str) else list(names) for names in (id, ood))
    found = report_on(
        folders, shifts=None if shifts is None else Path(shifts), published=published, axes=axes, compare=pair,
        shots=one_number_of_shots(shots), id_sets=id_sets, ood_sets=ood_sets, beside=page.parent,
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
    beside: Path | None = None,
) -> Reported:
    """The page of runs: that of their axis, or the page across axes.

    Args:
        shifts: the output of `unseen shifts fit`, for the page across axes.
        published: whether the page across axes includes the models of two papers.
        axes: whether to make the page across axes also for runs on one axis.
        compare: two backbones to compare image by image, shown first.
        shots: number of shots of this comparison; None for all samples.
        id_sets, ood_sets: for runs on test sets of shifts, the columns to fit; by default derived from the test sets.
        beside: the folder that the page is written into, to link to the studies of the runs.
    """
    across = published or axes or shifts is not None
    if not folders and not published and shifts is None:
        raise UserError(f"no runs to report on; give the folder of at least one run, or {argument('published')}")
    if compare is not None and (across or not folders):
        raise UserError(
            f"two backbones are compared within their runs: give the runs, and leave out {argument('published')}, "
            f"{argument('axes')} and {argument('shifts')}"
        )
    if compare is None and shots is not None:
        raise UserError(f"{argument('shots')} is only for a comparison; add {argument('compare')}, or leave it out")
    kinds = page_kinds(folders)
    if (id_sets or ood_sets) and kinds != ["shifts"]:
        raise UserError(f"{argument('id')} and {argument('ood')} are only for runs on test sets of shifts")
    suite = kinds == ["concepts", "tasks"] and not across and _is_suite_without_seen(folders)
    if compare is None and (across or (len(kinds) > 1 and not suite)):
        from unseen.report.axes.across_runs import study_axes
        from unseen.report.axes.page import axes_page

        shown = study_axes(folders, shifts, published=published)
        compared = _with_all_comparisons(Reported(axes_page(shown), shown), folders)
        return with_studies(with_suites(compared, folders), folders, beside)
    pair = None if compare is None else _pair(folders, compare, shots)
    found = _shift_page(folders, id_sets, ood_sets) if kinds[0] == "shifts" else PAGES[kinds[0]](folders)
    if suite:
        told = "This page is about the concepts; scores on the other data sets are in the section about the suite."
        found = replace(found, page=replace(found.page, notices=[told, *found.page.notices]))
    return with_studies(with_suites(with_resolution(found, folders, kinds[0], pair), folders), folders, beside)


def with_resolution(
    found: Reported, folders: Sequence[Path], kind: Kind, pair: "PairComparison | None" = None
) -> Reported:
    """A page with the section about what its differences mean, after its first one, or first if a pair is asked for."""
    from unseen.analyses.core.comparables import comparables
    from unseen.runs.data import RunData

    data = found.source if isinstance(found.source, RunData) else _merged(folders, kind)
    found = _compared(found, data, comparables(data) if found.every is None else found.every, pair)
    return _with_features(found, data)


def _with_all_comparisons(found: Reported, folders: Sequence[Path]) -> Reported:
    """The page across axes with this section, for all data sets of the runs."""
    from unseen.analyses.core.comparables import comparables, joined
    from unseen.runs.record import read_runs

    runs = read_runs(folders)
    if not runs:
        return found
    backbones = {backbone.name: backbone for run in reversed(runs) for backbone in run.backbones}
    domains = {domain.name: domain for run in reversed(runs) for domain in run.domains}
    data = replace(
        runs[0], backbones=[*backbones.values()], domains=[*domains.values()],
        scores=[score for run in runs for score in run.scores],
        features=[each for run in runs for each in run.features],
        folders=[folder for run in runs for folder in run.folders],
    )  # fmt: skip
    return _with_features(_compared(found, data, joined([comparables(run) for run in runs])), data)


def _with_features(found: Reported, data: "RunData") -> Reported:
    """A page with the sections about the features of its backbones, before the last section."""
    from unseen.analyses.feature_similarity import feature_similarity
    from unseen.report.core.similarity import similarity_section
    from unseen.report.core.spectrum import spectrum_section

    titles = {domain.name: domain.title for domain in data.domains}
    sections = [*filter(None, [spectrum_section(data), similarity_section(feature_similarity(data), titles)])]
    *first, last = found.page.sections
    return replace(found, page=replace(found.page, sections=[*first, *sections, last]))


def _compared(found: Reported, data: "RunData", every: "Comparables", pair: "PairComparison | None" = None) -> Reported:
    """A page with the sections about layers and about what can be compared, and the comparisons with the baseline."""
    from unseen.analyses.paired import compare_with_baseline
    from unseen.report.core.compared import Resolution
    from unseen.report.core.layers import layer_section
    from unseen.report.core.resolution import resolution_section

    drawn = frozenset(backbone.name for backbone in found.page.backbones)
    names = None if pair is None else (pair.first, pair.second)
    pairs = [*filter(None, [pair]), *compare_with_baseline(every, data, names)]
    shown, sections = Resolution(data, every, pairs, drawn), [*found.page.sections]
    section, layers = resolution_section(shown), layer_section(shown)
    if section is not None:
        after = next((place for place, each in enumerate(sections) if each.name == "accuracies"), 0) + 1
        sections.insert(after if pair is None and sections else 0, section)
    if layers is not None:
        sections.insert(0, layers)
    return replace(found, page=replace(found.page, sections=sections), every=every, pair=pair)


def with_suites(found: Reported, folders: Sequence[Path]) -> Reported:
    """A page with the sections about suites of data sets, first, if runs ask for one or have all data sets of one."""
    from unseen.analyses.core.suites import may_have_suites
    from unseen.report.core.suites import suite_sections

    if not may_have_suites(folders):
        return found
    first, sections = found.pair is not None, [*found.page.sections]  # a comparison that was asked for stays first
    sections[first:first] = suite_sections(folders, _of_suites(folders))
    return replace(found, page=replace(found.page, sections=sections))


def _is_suite_without_seen(folders: Sequence[Path]) -> bool:
    """Whether runs are of a suite of levels and tasks: the page across axes needs seen concepts too."""
    from unseen.analyses.core.suites import suites_of
    from unseen.runs.record import read_record

    seen = any(domain.seen for folder in folders for domain in read_record(folder)[0].domains)
    return not seen and bool(suites_of(folders))


def _of_suites(folders: Sequence[Path]) -> "RunData":
    """The runs as one, with the data sets of all kinds that suites have; backbones are matched by name."""
    by_folder = {folder: page_kinds([folder]) for folder in folders}
    kinds: list[Kind] = [kind for kind in ("concepts", "tasks") if any(kind in of for of in by_folder.values())]
    parts = [_merged([folder for folder, of in by_folder.items() if kind in of], kind) for kind in kinds]
    return replace(
        parts[0],
        scores=[score for part in parts for score in part.scores],
        domains=[domain for part in parts for domain in part.domains],
        scored=[each for part in parts for each in part.scored],
    )


def with_studies(found: Reported, folders: Sequence[Path], beside: Path | None = None) -> Reported:
    """A page with the section about the studies of its runs, before the last section."""
    from unseen.report.core.study import study_section

    section = study_section(folders, beside)
    if section is None:
        return found
    *first, last = found.page.sections
    return replace(found, page=replace(found.page, sections=[*first, section, last]))


def page_kinds(folders: Sequence[Path]) -> list[Kind]:
    """The kinds of pages that show some runs, by what their data sets measure."""
    from unseen.report.axes.sources import refuse_fit
    from unseen.runs.record import read_record

    for folder in folders:
        refuse_fit(folder)
    found = {axis for folder in folders for axis in read_record(folder)[0].axes}
    return [kind for kind, axes in KINDS.items() if found & {*axes}]


def write_run_pages(folder: Path) -> dict[Path, Reported]:
    """Write the pages of a run into its folder: one, or one for each axis that its data sets have scores on.

    Returns:
        Path → page, with its data. The first is `report.html`, the others are named after their axis.
    """
    from unseen.report.core.render import write_page
    from unseen.runs.record import read_run

    data = read_run(folder)
    kinds = [kind for kind, axes in KINDS.items() if data.on_axes(*axes).scores and {*axes} & {*data.axes}]
    pages = dict[Path, Reported]()
    for place, kind in enumerate(kinds):
        shown = with_suites(with_resolution(PAGES[kind]([folder]), [folder], kind), [folder])
        pages[folder / (REPORT if place == 0 else f"report-{kind}.html")] = with_studies(shown, [folder], folder)
    for path, found in pages.items():
        others = [other.name for other in pages if other != path]
        more = [f"Other pages of this run: {joined(others)}."] if others else []
        write_page(replace(found.page, notices=[*more, *found.page.notices]), path)
    return pages


def _concept_page(folders: Sequence[Path]) -> Reported:
    from unseen.analyses.core.comparables import comparables
    from unseen.report.concepts.page import concept_page

    data = _merged(folders, "concepts")
    every = comparables(data)
    return Reported(concept_page(data, every), data, every)


def _task_page(folders: Sequence[Path]) -> Reported:
    from unseen.analyses.core.comparables import comparables
    from unseen.report.tasks.page import task_page
    from unseen.report.tasks.results import page_of_run, page_of_runs

    one = len(folders) == 1
    tasks = page_of_run(folders[0]) if one else page_of_runs(folders, _named_runs(folders, "tasks"))
    every = comparables(_merged(folders, "tasks"))
    tasks = replace(tasks, every=every)
    return Reported(task_page(tasks), tasks, every)


def _shift_page(folders: Sequence[Path], id_sets: Sequence[str] = (), ood_sets: Sequence[str] = ()) -> Reported:
    from unseen.report.shifts.of_runs import page_of_runs
    from unseen.report.shifts.page import shift_page

    shown = page_of_runs(folders, id_sets, ood_sets)
    return Reported(shift_page(shown), shown)


PAGES: "Mapping[Kind, Callable[[Sequence[Path]], Reported]]" = {
    "concepts": _concept_page, "tasks": _task_page, "shifts": _shift_page,
}  # fmt: skip


def _merged(folders: Sequence[Path], kind: Kind) -> "RunData":
    """The runs as one, with only the data sets that this kind of page shows."""
    from unseen.runs.merge import merge_runs

    return merge_runs(_named_runs(folders, kind))


def _named_runs(folders: Sequence[Path], kind: Kind) -> "list[tuple[str, RunData]]":
    """The runs by name, with only the data sets that this kind of page shows."""
    from unseen.runs.record import read_runs

    runs = zip(folders, read_runs(folders), strict=True)
    return [(folder.resolve().name, data.on_axes(*KINDS[kind])) for folder, data in runs]


def _two_names(compare: object) -> tuple[str, str]:
    """The names of two backbones, as Python gives them; anything else is an error."""
    match compare:
        case (str() as first, str() as second) if not isinstance(compare, str):
            return first, second
    raise UserError(f"compare is a pair of names of backbones, such as ('a', 'b'), not {compare!r}")


def _pair(folders: Sequence[Path], names: tuple[str, str], shots: int | None) -> "PairComparison":
    from unseen.analyses.paired import compare_backbones

    return compare_backbones(folders, *names, shots=shots)
