"""The domains in a file of the user's own classes, and problems with their images, for `unseen ls domains`."""

from pathlib import Path

import typer

from unseen.cli.output import console, note, print_json, print_table
from unseen.errors import UserError


def show_domains(file: Path, images: Path | None, *, as_json: bool) -> None:
    """Print classes and images of each domain; problems are printed and give exit code 2."""
    from unseen.data.own.concept_file import read_concept_file
    from unseen.studies.concepts.levels import own_levels

    told = list[str]()
    data = own_levels(read_concept_file(file, images), told.append).data
    assert data is not None
    wrong, rows = list[str](), {name: {"train": 0, "test": 0} for name in data.classes}
    for name in data.classes:
        try:
            [domain], lost = data.open([name], "report")
        except UserError as error:
            wrong.append(f"{name}: {error}")
            continue
        rows[name] = dict(domain.rows)
        if lost:
            wrong.append(f"{name}: {lost.sentence(len(data.classes[name]), data.least)}")
    similar = {name: [c.similarity for c in data.levels[number]] for name, number in data.numbers.items()}
    means = {name: sum(v) / len(v) for name, v in similar.items() if None not in v and v}  # type: ignore[arg-type]
    columns = ("domain", "classes", "training images", "test images", "similarity to seen")
    table = [
        (name, len(classes), rows[name]["train"], rows[name]["test"], means.get(name))
        for name, classes in data.classes.items()
    ]
    if as_json:
        records = [dict(zip(columns, row, strict=True)) for row in table]
        print_json({"name": data.description.name, "domains": records, "told": told, "problems": wrong})
    else:
        shown = [[*row[:4], "" if row[4] is None else f"{row[4]:.3f}"] for row in table]
        print_table(f"Domains of {data.description.name}", columns, shown, right=columns[1:])
        for sentence in told:
            note(sentence)
        for sentence in wrong:
            console().print(f"Problem: {sentence}")
    if wrong:
        raise typer.Exit(2)
