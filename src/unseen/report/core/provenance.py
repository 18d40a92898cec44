"""The last section of pages: the sources of the numbers, and how long the jobs took."""

from collections.abc import Mapping

from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.text.words import duration
from unseen.version import __version__


def provenance_section(facts: Mapping[str, str], timings: Mapping[str, tuple[int, float]] | None = None) -> Section:
    """The section of facts by label; `timings` has jobs and seconds by backbone, None for pages without jobs."""
    facts = {**facts, "Page": f"unseen {__version__}"}
    if timings is None:
        return Section("provenance", "Provenance", facts=facts)
    total = sum(seconds for _, seconds in timings.values())
    if not total:
        return Section(
            "provenance", "Provenance and timings", facts=facts, menu="Provenance", note="No times were recorded."
        )
    rows = [_row(name, jobs, seconds) for name, (jobs, seconds) in timings.items()]
    rows.append(_row("Total", sum(jobs for jobs, _ in timings.values()), total, "foot"))
    columns = [Column("Backbone", number=False), Column("Jobs"), Column("Time", names=("seconds",))]
    table = Table("timings", columns, rows, "Time of the jobs, one after another", kind="plain")
    return Section("provenance", "Provenance and timings", facts=facts, tables=[table], menu="Provenance")


def _row(name: str, jobs: int, seconds: float, style: str = "") -> Row:
    return Row([Cell(name), Cell(str(jobs)), Cell(duration(seconds), (seconds,))], style)
