"""Sections are found by their files."""

import sys
from pathlib import Path

import pytest

from unseen.report.concepts import sections as concept_sections
from unseen.report.core.discover import page_sections

PAGES = ("concepts", "tasks", "shifts", "axes", "leaderboard")


@pytest.mark.parametrize("page", PAGES)
def test_sections_are_in_their_order(page: str) -> None:
    orders = [section.order for section in page_sections(page)]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)


def test_one_file_adds_a_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "added.py").write_text(
        "from unseen.report.core.discover import PageSection\n"
        "from unseen.report.core.model import Section\n"
        "SECTION = PageSection('concepts', 15, lambda context: Section('added', 'Added'))\n"
    )
    monkeypatch.setattr(concept_sections, "__path__", [*concept_sections.__path__, str(tmp_path)])
    page_sections.cache_clear()
    try:
        assert page_sections("concepts")[1].build(None).name == "added"
    finally:
        page_sections.cache_clear()
        sys.modules.pop("unseen.report.concepts.sections.added", None)
