"""`unseen show`: a study with every setting, and what differs between two."""

from typing import Annotated

import typer

from unseen.cli import completion
from unseen.cli.output import Json, console, print_json, print_rows
from unseen.cli.study_options import SetOption, StudyArgument, with_settings
from unseen.errors import UserError


def show(
    study: StudyArgument,
    other: Annotated[
        str | None,
        typer.Argument(help="Another study or run: print only what differs.", autocompletion=completion.studies),
    ] = None,
    settings: SetOption = None,
    json: Json = False,
) -> None:
    """Print a study as TOML, with every setting and its meaning.

    unseen show cog-v2 > mine.toml starts a study of your own. With two studies or runs, print the settings that differ.
    """
    import tomllib

    from unseen.studies.toml import find_study

    if other is not None and settings:
        raise UserError("--set changes the study that is printed; leave it out to compare two")
    found = with_settings(find_study(study), settings or ())
    if other is not None:
        from unseen.studies.differences import study_differences

        rows = [(each.key, each.first, each.second) for each in study_differences(found, find_study(other))]
        if rows or json:
            print_rows(("setting", study, other), rows, as_json=json)
        else:
            console().print("No setting differs.")
    elif json:
        print_json(tomllib.loads(found.to_toml()))
    else:
        console().out(found.to_toml(comments=True), highlight=False, end="")
