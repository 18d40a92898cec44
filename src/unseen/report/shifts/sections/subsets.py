"""Subsets of shifted test sets on which models of higher ID accuracy are less accurate."""

from collections.abc import Iterator

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.shifts.page_data import ShiftPage
from unseen.report.shifts.parts import group_looks
from unseen.report.shifts.subset_sections import subset_sections


def build(page: ShiftPage) -> Iterator[Section]:
    """The sections of a page of runs whose results keep which images are right."""
    if page.subsets is not None:
        looks = {name: (colour, symbol) for name, colour, symbol in group_looks(page)}
        yield from subset_sections(page.subsets, page.subset_pictures, looks)


SECTION = PageSection("shifts", 45, build)
