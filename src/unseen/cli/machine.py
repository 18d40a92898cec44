"""`unseen ls` and `unseen doctor`: what there is, and what this machine can do."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import Json, print_json, print_table


def ls(
    what: Annotated[str, typer.Argument(help="backbones, datasets, recipes, levels, measures, published, or sets.")],
    catalogue: Annotated[bool, typer.Option("--catalogue", help="The backbones of the papers.")] = False,
    as_json: Json = False,
) -> None:
    """List what can be named in other commands."""
    from unseen.cli.backbones import catalogue_rows, source_rows
    from unseen.cli.choices import choose
    from unseen.cli.datasets import dataset_rows
    from unseen.cli.published import published_rows
    from unseen.ontology.levels import SHIPPED, load_levels
    from unseen.ontology.measures import all_measures
    from unseen.ontology.recipes import RECIPES
    from unseen.ontology.wordnet import CONCEPT_SETS, wordnet

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    match choose("what to list", what, ("backbones", "datasets", "recipes", "levels", "measures", "published", "sets")):
        case "backbones":
            columns, rows = catalogue_rows(training=as_json) if catalogue else source_rows()
        case "datasets":
            columns, rows = dataset_rows()
        case "published":
            columns, rows = published_rows()
        case "recipes":
            columns = ("recipe", "universe", "seen", "min_images", "measure", "levels", "size")
            rows = [
                (r.name, r.universe, r.seen, str(r.min_images), r.measure, str(r.levels), str(r.size))
                for r in RECIPES.values()
            ]
        case "levels":
            columns = ("levels", "concepts")
            rows = [(name, str(len(load_levels(name).concepts))) for name in SHIPPED]
        case "measures":
            columns = ("measure", "formula", "uses", "source")
            rows = [(m.name, m.formula, m.uses, m.citation) for m in all_measures().values()]
        case _:
            columns = ("set", "concepts")
            rows = [(name, str(len(wordnet().members(name)))) for name in CONCEPT_SETS]
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("", columns, rows)


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
