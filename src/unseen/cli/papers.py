"""`unseen papers`: published tables, and whether they support the papers' conclusions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import Json, note, print_json, print_rows, print_table
from unseen.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

Rows = list[tuple[str, ...]]
app = typer.Typer(help="Published tables, and whether they support the claims.", no_args_is_help=True)


@app.command()
def tables(
    name: Annotated[
        str | None, typer.Argument(help="Paper: cog-v2, cog-v1, ericsson-2021 or shi-2023. Default: list them.")
    ] = None,
    where: Annotated[list[str] | None, typer.Option(help="Show only rows with this value, such as domain=l5.")] = None,
    table: Annotated[
        Path | None, typer.Option(help="Write the table to this file: .csv, .json, .parquet, .md or .tex.")
    ] = None,
    notes: Annotated[
        bool, typer.Option("--notes", help="Show remarks on errors and oddities in the tables instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the numbers of a paper's tables, one number per row."""
    from unseen.papers import TABLES
    from unseen.papers import notes as notes_on
    from unseen.papers import published as numbers
    from unseen.runs.tables import write_table

    if name is None:
        if where or table or notes:
            raise UserError(f"name a paper: {', '.join(TABLES)}")
        print_rows(*published_rows(), as_json=as_json)
        return
    found = notes_on(name) if notes else numbers(name)
    for condition in where or []:
        found = _only(found, condition)
    if table:
        write_table(found, table)
        note(f"{len(found):,} rows in {table}")
        return
    rows = found.astype(object).where(found.notna(), None)
    if as_json:
        print_json(rows.to_dict("records"))
        return
    note(f"{TABLES[name].reference}, {TABLES[name].link}")
    numeric = [column for column in found.columns if found[column].dtype.kind in "fi"]
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows.itertuples(index=False, name=None)]
    print_table("", list(found.columns), cells, right=numeric)


def _only(table: "pd.DataFrame", condition: str) -> "pd.DataFrame":
    """The rows in which a column has a value, both from `column=value`."""
    column, equals, value = condition.partition("=")
    if not equals or column not in table.columns:
        columns = list(map(str, table.columns))
        hint = did_you_mean(column, columns)
        raise UserError(
            f"--where takes column=value with one of the columns {', '.join(columns)}, not '{condition}'{hint}"
        )
    values = table[column].astype(str)
    if value not in set(values):
        some = list(dict.fromkeys(values))
        shown = ", ".join(some[:40]) + (" …" if len(some) > 40 else "")
        raise UserError(f"--where {condition}: no such row; {column} is one of {shown}{did_you_mean(value, some)}")
    return table.loc[values == value]


def published_rows() -> tuple[tuple[str, ...], Rows]:
    """The papers whose numbers are included in the package, one row per kind of table."""
    from unseen.papers import TABLES

    rows: Rows = []
    for source in TABLES.values():
        for table in source.tables:
            numbers = ", ".join(map(str, table.numbers))
            rows.append((source.name, numbers, table.what, table.unit, f"{table.values:,}", source.link))
    return ("name", "tables", "contents", "unit", "numbers", "paper"), rows


@app.command()
def claims(
    name: Annotated[str | None, typer.Argument(help="Id of one claim, to see the evidence.")] = None,
    as_json: Json = False,
) -> None:
    """Check each conclusion of ImageNet-CoG against its published tables."""
    from unseen.papers.claims import CLAIMS, printed

    chosen = [claim for claim in CLAIMS if name in {None, claim.id}]
    if not chosen:
        raise UserError(
            f"no claim '{name}'; unseen papers claims lists them{did_you_mean(str(name), (c.id for c in CLAIMS))}"
        )
    tables = printed()
    findings = [(claim, claim.judge(tables)) for claim in chosen]
    if as_json:
        print_json(
            [
                {"id": c.id, "section": c.section, "says": c.says, "verdict": f.verdict, "evidence": f.evidence}
                for c, f in findings
            ]
        )
        return
    print_table(
        "", ("claim", "section", "statement", "verdict"), [(c.id, c.section, c.says, f.verdict) for c, f in findings]
    )
    if name:
        typer.echo(f"\n{findings[0][1].evidence}")
