"""`unseen doctor`: what this machine can do."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import Json, print_json, print_table


def doctor(
    images: Annotated[Path | None, typer.Option(help="Folder of the task study's data sets: which are there.")] = None,
    check_features: Annotated[
        Path | None,
        typer.Option(
            help="Features, or a folder of them: compare all bytes with their hashes; exit code 1 if some differ."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what this machine has, what is missing, and how to get it."""
    from unseen.cli.checks import all_checks
    from unseen.cli.datasets import state_rows

    if check_features is not None:
        return _check_features(check_features, as_json=as_json)
    if images is not None:
        columns, found = state_rows(images)
        if as_json:
            print_json([dict(zip(columns[1:], row[1:], strict=True)) for row in found])
        else:
            print_table(f"data sets below {images}", columns, found, right=("images", "of"))
        return None
    checks = all_checks()
    if as_json:
        print_json([{"what": c.what, "ok": c.ok, "found": c.found, "advice": c.advice} for c in checks])
        return None
    rows = [("✓" if c.ok else "–", c.what, c.found, c.advice) for c in checks]
    print_table("unseen on this machine", ("", "what", "found", "advice"), rows)
    return None


def _check_features(path: Path, *, as_json: bool) -> None:
    from unseen.features.check_again import check_again

    found = list(check_again(path))
    if as_json:
        print_json([{"place": str(each.place), "rows": each.rows, "problem": each.problem} for each in found])
    else:
        rows = [
            ("–", str(each.place), "", each.problem) if each.problem else ("✓", str(each.place), f"{each.rows:,}", "")
            for each in found
        ]
        print_table(f"features at {path}", ("", "where", "rows", "problem"), rows, right=("rows",))
    if any(each.problem for each in found):
        raise typer.Exit(1)
