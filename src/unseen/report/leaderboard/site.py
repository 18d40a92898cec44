"""The leaderboard as a folder of static files for any web server; nothing is loaded from elsewhere."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from unseen.errors import UserError
from unseen.exchange import record as exchange_record
from unseen.exchange.contributions import Contribution
from unseen.exchange.export import write_results
from unseen.exchange.record import SCHEMA, VERSION, ResultRecord, ResultsFile
from unseen.files import atomic_write, write_table
from unseen.papers.leaderboard import Entry, Leaderboard
from unseen.report.core.model import Cell, Column, Page, Row, Section, Table
from unseen.report.core.render import is_page, write_page
from unseen.report.leaderboard.model_page import TITLES, model_page
from unseen.report.leaderboard.page import leaderboard_page
from unseen.report.leaderboard.transfer import transfer_section
from unseen.runs.score import shots_name
from unseen.runs.tables import write_table as write_frame
from unseen.version import __version__

SCHEMA_FILE = Path(exchange_record.__file__).with_name("results.schema.json")
FOLDERS = ("models", "results")
"""Of the pages of models, and of their results."""
MANY = 12
"""With more contributed models than this, their table has a filter."""
COLUMNS = ("model", "study", "protocol", "data", "probe", "shots", "metric", "value", "deviation", "seeds")


def write_site(board: Leaderboard, models: Sequence[Contribution], folder: Path) -> None:
    """Write the leaderboard page, one page and one results file per contributed model, and tables of all results.

    Files are only written into the folder, never through links in it. What an earlier site has of other models is
    removed.
    """
    _refuse_links(folder)
    addresses = dict(zip([model.name for model in models], _addresses(models), strict=True))
    entries = {entry.source: entry for entry in board.entries if entry.source}
    everything = [record for model in models for record in model.records]
    for model in models:
        address = addresses[model.name]
        links = [("← Leaderboard", "../index.html"), ("Results (JSON)", f"../results/{address}.json")]
        page = model_page(model, entries.get(model.name), len(board.entries), links)
        write_page(page, folder / "models" / f"{address}.html")
        write_results(_file(model.records), folder / "results" / f"{address}.json")
    write_frame(board.to_frame(), folder / "leaderboard.csv")
    write_results(_file(everything), folder / "results.json")
    write_table(folder / "results.csv", COLUMNS, _rows(everything))
    with atomic_write(folder / "results.schema.json") as file:
        file.write(SCHEMA_FILE.read_bytes())
    write_page(_index(board, models, addresses), folder / "index.html")
    _remove_others(folder, {*addresses.values()})


def _refuse_links(folder: Path) -> None:
    """Refuse a site with links in it, through which files elsewhere would be written or removed."""
    places = [folder, *(folder / name for name in FOLDERS)]
    for place in places:
        inside = [*place.iterdir()] if place.is_dir() else []
        link = next((each for each in inside if each.is_symlink()), None)
        if link is not None:
            raise UserError(f"{link}: is a link, and a site is only written into its own folder; remove the link")


def _remove_others(folder: Path, addresses: Collection[str]) -> None:
    """Remove the pages of models that the site no longer has, and their results; other files stay."""
    for page in (folder / FOLDERS[0]).glob("*.html"):
        if page.stem in addresses or not is_page(page):
            continue
        page.unlink()
        (folder / FOLDERS[1] / f"{page.stem}.json").unlink(missing_ok=True)


def _file(records: Sequence[ResultRecord]) -> ResultsFile:
    return ResultsFile(SCHEMA, VERSION, __version__, records)


def _rows(records: Sequence[ResultRecord]) -> Iterator[list[object]]:
    for record in records:
        for score in record.scores:
            yield [
                record.backbone.name, record.study, record.protocol, record.data.name, score.probe,
                shots_name(score.shots), score.metric, score.value, score.deviation, len(score.seeds),
            ]  # fmt: skip


def _addresses(models: Sequence[Contribution]) -> list[str]:
    """One unique file name per model, of small letters, digits and hyphens."""
    used, numbers = dict[str, None](), defaultdict[str, Iterator[int]](lambda: count(1))
    for model in models:
        first = re.sub(r"[^a-z0-9]+", "-", model.name.lower()).strip("-")[:60] or "model"
        names = (first if number == 1 else f"{first}-{number}" for number in numbers[first])
        used[next(name for name in names if name not in used)] = None
    return list(used)


def _index(board: Leaderboard, models: Sequence[Contribution], addresses: Mapping[str, str]) -> Page:
    page = leaderboard_page(replace(board, entries=tuple(sorted(board.entries, key=lambda entry: not entry.yours))))
    pages = {name: f"models/{address}.html" for name, address in addresses.items()}
    linked = {entry.model: pages[entry.source] for entry in board.entries if entry.source}
    sections = [_linked(section, linked) for section in page.sections]
    if models:
        sections[0:1] = [
            _contributed(models, pages, board), sections[0], *filter(None, [transfer_section(models, pages)]),
        ]  # fmt: skip
    downloads = [("Leaderboard (CSV)", "leaderboard.csv"), ("All results (JSON)", "results.json")]
    downloads += [("All results (CSV)", "results.csv"), ("Schema", "results.schema.json")]
    return replace(page, sections=sections, links=downloads)


def _linked(section: Section, pages: Mapping[str, str]) -> Section:
    """The section, with links from the names of contributed models in its tables to their pages."""
    tables = [
        replace(table, rows=[_linked_row(row, pages) for row in table.rows]) for table in section.tables
    ]  # fmt: skip
    return replace(section, tables=tables)


def _linked_row(row: Row, pages: Mapping[str, str]) -> Row:
    if row.backbone not in pages:
        return row
    return replace(row, cells=[replace(c, link=pages[row.backbone]) if c.look else c for c in row.cells])


def _contributed(models: Sequence[Contribution], pages: Mapping[str, str], board: Leaderboard) -> Section:
    """The user's own models, which the page begins with; their rank is among all models."""
    entries = {entry.source: entry for entry in board.entries if entry.source}
    columns = [
        Column("Model", number=False, names=("model",)),
        Column("Rank", f"among the {len(board.entries)} models of ImageNet-CoG and yours; in brackets its range",
               names=("rank", "rank_low", "rank_high")),
        Column("From", number=False), Column("Backbone", number=False),
        Column("Studies", number=False), Column("Data", "domains, data sets and test sets"),
        Column("Measured", number=False),
    ]  # fmt: skip
    rows = []
    for model in models:
        studies = ", ".join(TITLES[study].lower() for study in dict.fromkeys(each.study for each in model.records))
        data = {(record.study, record.data.name) for record in model.records}
        dates = sorted(record.made.last[:10] for record in model.records)
        cells = [
            Cell(model.name, (model.name,), link=pages[model.name]), _rank(entries.get(model.name)),
            Cell(model.origin), Cell(model.backbone.id or "–"), Cell(studies),
            Cell(str(len(data)), (len(data),)), Cell(dates[-1] or "–"),
        ]  # fmt: skip
        rows.append(Row(cells, "yours"))
    note = "Results are checked for impossible values; they are not measured again."
    table = Table(
        "contributed", columns, rows, sortable=True, head=True, filter="part of a name" if len(rows) > MANY else ""
    )
    return Section("contributed", "Your models", note=note, tables=[table])


def _rank(entry: Entry | None) -> Cell:
    if entry is None:
        return Cell(about="not a model of ImageNet-CoG's study, or without all of its data")
    ends = f"({entry.low}–{entry.high})" if entry.low != entry.high else ""
    return Cell(str(entry.rank), (entry.rank, entry.low, entry.high), small=ends)
