"""`unseen doctor`: checks of the installation, of data sets and of features."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli import completion
from unseen.cli.output import Json, note, print_json, print_table


def doctor(
    data: Annotated[
        Path | None, typer.Option(help="Instead, check which published data sets this folder contains.")
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            help="With --data: only the data sets of this study, by its name or its file.",
            autocompletion=completion.studies,
        ),
    ] = None,
    check_features: Annotated[
        Path | None,
        typer.Option(
            help="Instead, compare features with their stored hashes: a file, a feature store, or a folder of them. "
            "The exit code is 1 if any differ."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check this installation: packages, GPU and data.

    Says how to install what is missing.
    """
    from unseen.cli.checks import all_checks
    from unseen.cli.ls.datasets import state_rows, study_rows
    from unseen.errors import UserError

    if check_features is not None:
        return _check_features(check_features, as_json=as_json)
    if study is not None and data is None:
        raise UserError("--study needs the folder of its data sets; add --data")
    if data is not None:
        columns, found = state_rows(data) if study is None else study_rows(data, study)
        if as_json:
            print_json([dict(zip(columns[1:], row[1:], strict=True)) for row in found])
        else:
            print_table(f"Data sets in {data}", columns, found, right=("images", "expected"))
            if study is not None:
                note(_how_much(study, [str(row[2]) for row in found]))
        return None
    checks = all_checks()
    if as_json:
        print_json([asdict(check) for check in checks])
        return None
    rows = [("✓" if c.ok else "–", c.what, c.found, c.purpose, c.advice) for c in checks]
    print_table("unseen on this machine", ("", "what", "found", "used for", "advice"), rows)
    note(
        "\nTo check your data: unseen ls datasets FOLDER (your own images), unseen doctor --data FOLDER (published "
        "data sets), unseen ls shift-sets --data FOLDER (shifts)."
    )
    return None


def _how_much(study: str, states: list[str]) -> str:
    """How much of a study is there, and what that means for a run."""
    there = sum(state not in {"missing", "partial"} for state in states)
    if there == len(states):
        return f"\nAll data of {study} are there."
    partial = states.count("partial")
    some = f", and {partial} in part" if partial else ""
    of = "those that are missing or there only in part" if partial else "the others"
    return (
        f"\n{there} of {len(states)} data sets are there{some}. A run of {study} leaves out {of}, and says so; it has "
        "no mean over all of them."
    )


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
        print_table(f"Features in {path}", ("", "features", "rows", "problem"), rows, right=("rows",))
    if any(each.problem for each in found):
        raise typer.Exit(1)
