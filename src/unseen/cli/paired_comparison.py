"""`unseen report --compare`: two backbones on the same test images."""

from collections.abc import Sequence
from pathlib import Path

from unseen.cli.output import console, print_table
from unseen.errors import UserError


def compare(runs: Sequence[Path], first: str, second: str, *, shots: str, table: Path | None) -> None:
    """Print how far apart two backbones are on each domain, image by image, and whether that could be chance."""
    from unseen.runs.shots import parse_shots
    from unseen.runs.tables import write_table
    from unseen.studies.concepts.comparison import compare_backbones, comparison_table
    from unseen.words import signed

    numbers = parse_shots(shots)
    if len(numbers) > 1:
        raise UserError(f"--shots is one number here, or all, not {shots}; compare each alone")
    (number,) = numbers
    found = compare_backbones(runs, first, second, shots=number)
    if table is not None:
        write_table(comparison_table(found), table)
    rows = [
        [
            item.domain, signed(100 * item.difference.accuracy.value),
            f"{signed(100 * item.difference.accuracy.low)} to {signed(100 * item.difference.accuracy.high)}",
            f"{item.p_holm:.2g}", signed(item.difference.standardised, 2),
            f"{100 * (1 + item.difference.dominance) / 2:.0f}%",
        ]
        for item in found
    ]  # fmt: skip
    columns = ["domain", "difference", "95% interval", "p (Holm)", "effect size", "concepts won"]
    print_table(f"{first} minus {second}, top-1, points", columns, rows, right=columns[1:])
    seeds, concepts = found[0].seeds, found[0].difference.concepts
    over = f"concepts and {seeds} seeds" if seeds > 1 else "concepts, with a single seed: others would vary further"
    added = ", with the variance over seeds added" if seeds > 1 else ""
    console().print(
        f"\nIntervals by a bootstrap over {concepts} {over}; p by flipping which backbone is which, concept by "
        f"concept{added}, corrected for {len(found)} domain{'s' if len(found) > 1 else ''}; effect size is Cohen's d "
        f"over concepts; ties count as half won."
    )
    if table is not None:
        console().print(f"\nTable: {table}")
