"""`unseen check`: whether results files are valid, and whether runs reproduce published numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli.concept_tables import show_compared
from unseen.cli.output import Json, console, counted, print_json

if TYPE_CHECKING:
    from unseen.analyses.reproduction import Compared
    from unseen.exchange.check import Finding
    from unseen.runs.data import RunData

INVALID, UNLIKELY, DIFFERENT = 2, 1, 1


def check(
    files: Annotated[
        list[Path],
        typer.Argument(help="Results files from unseen export, or folders of runs of the paper's ResNet-50."),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if there are warnings.")] = False,
    json: Json = False,
) -> None:
    """Check results files, and runs of the paper's ResNet-50.

    Results files: whether their numbers are possible, agree with each other, and are plausible. Errors: an invalid
    file, values out of range, settings that are not those of the named protocol, means, deviations or intervals that
    do not fit their values, accuracies that are no number of correct test images. Warnings: settings that are missing
    or unknown, scores far from all published ones. Scores without all settings are not ranked.

    Runs of cog-v2 with torchvision:resnet50.IMAGENET1K_V1: whether each accuracy differs from the published one by no
    more than three standard errors.

    The exit code is 2 if a file has errors, and 1 if the accuracies of a run differ. Warnings alone give 0, or 1 with
    --strict.
    """
    from unseen.analyses.reproduction import compare_run
    from unseen.exchange.check import check_results
    from unseen.runs.record import read_run

    runs = {path: read_run(path) for path in files if path.is_dir()}
    compared = {path: compare_run(data, str(path)) for path, data in runs.items()}
    found = {path: check_results(path) for path in files if path not in runs}
    if json:
        print_json([*_finding_records(found), *_compared_records(compared)])
    else:
        _print_findings(found)
        for path, rows in compared.items():
            _print_compared(runs[path], rows)
    kinds = {each.severity for findings in found.values() for each in findings}
    if "error" in kinds:
        raise typer.Exit(INVALID)
    if not all(row.agrees for rows in compared.values() for row in rows):
        raise typer.Exit(DIFFERENT)
    if strict and "warning" in kinds:
        raise typer.Exit(UNLIKELY)


def _finding_records(found: "Mapping[Path, Sequence[Finding]]") -> list[dict[str, Any]]:
    from dataclasses import asdict

    return [{"file": str(path)} | asdict(each) for path, findings in found.items() for each in findings]


def _compared_records(compared: "Mapping[Path, Sequence[Compared]]") -> list[dict[str, Any]]:
    from dataclasses import asdict

    return [
        {"run": str(path)} | asdict(row) | {"difference": row.difference, "agrees": row.agrees}
        for path, rows in compared.items()
        for row in rows
    ]


def _print_findings(found: "Mapping[Path, Sequence[Finding]]") -> None:
    lines = []
    for path, findings in found.items():
        number = {kind: sum(each.severity == kind for each in findings) for kind in ("error", "warning")}
        verdict = counted(number["error"], "error") if number["error"] else "valid"
        lines.append(f"{path}: {verdict}, {counted(number['warning'], 'warning')}")
        lines += [f"  {each.severity}: {each.where + ': ' if each.where else ''}{each.text}" for each in findings]
    if lines:
        console().print("\n".join(lines))


def _print_compared(data: "RunData", rows: "Sequence[Compared]") -> None:
    """Print measured and published accuracies, and what a reader has to know of the run."""
    from unseen.runs.comparability_words import comparison_notices

    show_compared(rows)
    for sentence in [*data.notices, *comparison_notices(data)]:
        console().print(f"\n{sentence}")
