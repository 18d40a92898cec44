"""`unseen check`: whether results files are valid and their numbers plausible."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import Json, console, counted, print_json

INVALID, UNLIKELY = 2, 1


def check(
    files: Annotated[list[Path], typer.Argument(help="Results files from unseen export.")],
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if there are warnings.")] = False,
    json: Json = False,
) -> None:
    """Check results files: whether their numbers are possible, agree with each other, and are plausible.

    Errors: an invalid file, values out of range, settings that are not those of the named protocol, means, deviations
    or intervals that do not fit their values, accuracies that are no number of correct test images. Warnings: settings
    that are missing or unknown, scores far from all published ones. Scores without all settings are not ranked.

    The exit code is 2 if a file has errors. Warnings alone give 0, or 1 with --strict.
    """
    from dataclasses import asdict

    from unseen.exchange.check import check_results

    found = {path: check_results(path) for path in files}
    if json:
        print_json([{"file": str(path)} | asdict(each) for path, findings in found.items() for each in findings])
    else:
        out = console()
        for path, findings in found.items():
            number = {kind: sum(each.severity == kind for each in findings) for kind in ("error", "warning")}
            verdict = counted(number["error"], "error") if number["error"] else "valid"
            out.print(f"{path}: {verdict}, {counted(number['warning'], 'warning')}")
            for each in findings:
                out.print(f"  {each.severity}: {each.where + ': ' if each.where else ''}{each.text}")
    kinds = {each.severity for findings in found.values() for each in findings}
    if "error" in kinds:
        raise typer.Exit(INVALID)
    if strict and "warning" in kinds:
        raise typer.Exit(UNLIKELY)
