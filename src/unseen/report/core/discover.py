"""The sections of a page, discovered by file: each module in the package `sections` of a page has one `SECTION`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, Literal, TypeVar

from unseen.report.core.model import Section

Data = TypeVar("Data")
PageName = Literal["concepts", "tasks", "shifts", "axes", "leaderboard"]


@dataclass(frozen=True)
class PageSection(Generic[Data]):
    """The section of a module.

    Attributes:
        page: the page that it belongs to.
        order: sections are sorted by this number.
        build: data of the page → the section or sections; None or empty if there is nothing to show.
    """

    page: PageName
    order: int
    build: Callable[[Data], Section | Iterable[Section] | None]


@cache
def page_sections(page: PageName) -> tuple[PageSection[Any], ...]:
    """All sections of a page, in their order."""
    package = import_module(f"unseen.report.{page}.sections")
    modules = [import_module(f"{package.__name__}.{module.name}") for module in iter_modules(package.__path__)]
    found = [module.SECTION for module in modules]
    misplaced = [module.__name__ for module in modules if module.SECTION.page != page]
    assert not misplaced, f"{misplaced} are not sections of {page}"
    return tuple(sorted(found, key=lambda section: section.order))


def build_sections(page: PageName, data: object) -> list[Section]:
    """The sections of a page that have contents."""
    built = [section.build(data) for section in page_sections(page)]
    return [
        section
        for found in built
        for section in ([found] if isinstance(found, Section) else found or ())
    ]  # fmt: skip
