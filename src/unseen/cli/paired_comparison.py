"""`unseen report --compare`: two backbones on the same test images, in the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.studies.concepts.comparison import PairComparison


def one_number_of_shots(shots: str) -> int | None:
    """The number of `--shots`; None for all samples."""
    from unseen.runs.shots import parse_shots

    numbers = parse_shots(shots)
    if len(numbers) > 1:
        raise UserError(f"--shots takes one number or all with --compare, not {shots}; compare one at a time")
    return numbers[0]


def print_comparison(pair: "PairComparison", table: Path | None) -> None:
    """Print the difference of two backbones on the same test images of each domain, with intervals and p-values."""
    from unseen.report.concepts.sections.comparison import method_text, pair_texts, seeds_caution
    from unseen.runs.tables import write_table
    from unseen.studies.concepts.comparison import comparison_table

    if table is not None:
        write_table(comparison_table(pair.domains), table)
    columns = ["domain", "difference", "95% interval", "p (Holm)", "effect size", "concepts won"]
    rows = [[item.domain, *pair_texts(item)] for item in pair.domains]
    print_table(f"{pair.first} minus {pair.second}, top-1, percentage points", columns, rows, right=columns[1:])
    for sentence in (method_text(pair), *seeds_caution([pair])):
        console().print(f"\n{sentence}")
    if table is not None:
        console().print(f"\nTable: {table}")
