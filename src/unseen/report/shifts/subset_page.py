"""The files of `unseen shifts subsets`: a page of its own, or a table of the images of the subsets."""

from pathlib import Path

from unseen.analyses.robustness.found_subsets import ShiftSubsets
from unseen.report.core.model import Page
from unseen.report.core.render import write_page
from unseen.report.shifts.parts import looks_of
from unseen.report.shifts.subset_pictures import Pictures
from unseen.report.shifts.subset_sections import TITLE, subset_sections
from unseen.runs.tables import write_table
from unseen.text.words import counted


def write_subsets(subsets: ShiftSubsets, path: Path, pictures: Pictures | None = None) -> None:
    """Write the page (.html), or a table with one row per image of each subset."""
    if path.suffix == ".html":
        write_page(subset_page(subsets, pictures or {}), path)
    else:
        write_table(subsets.images(), path)


def subset_page(subsets: ShiftSubsets, pictures: Pictures) -> Page:
    """The page of some searches."""
    groups = dict.fromkeys(model.group for each in subsets.found for model in each.models)
    looks = {name: (colour, symbol) for name, colour, symbol in looks_of([*groups])}
    turned = sum(each.turns_round for each in subsets.found)
    facts = [counted(len(subsets.found), "search"), f"{turned} on which the relation turns round"]
    return Page(TITLE, list(subset_sections(subsets, pictures, looks)), facts=facts)
