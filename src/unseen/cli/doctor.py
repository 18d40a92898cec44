"""`unseen doctor`: what this machine can do."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import Json, print_json, print_table


def doctor(
    images: Annotated[Path | None, typer.Option(help="Folder of the task study's data sets: which are there.")] = None,
    as_json: Json = False,
) -> None:
    """Say what this machine has, what is missing, and how to get it."""
    from unseen.cli.checks import all_checks
    from unseen.cli.datasets import state_rows

    if images is not None:
        columns, found = state_rows(images)
        if as_json:
            print_json([dict(zip(columns[1:], row[1:], strict=True)) for row in found])
        else:
            print_table(f"data sets below {images}", columns, found, right=("images", "of"))
        return
    checks = all_checks()
    if as_json:
        print_json([{"what": c.what, "ok": c.ok, "found": c.found, "advice": c.advice} for c in checks])
        return
    rows = [("✓" if c.ok else "–", c.what, c.found, c.advice) for c in checks]
    print_table("unseen on this machine", ("", "what", "found", "advice"), rows)
