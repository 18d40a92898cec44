"""A user's own taxonomy, from a CSV file of edges."""

from pathlib import Path

from unseen.errors import UserError
from unseen.files import read_table
from unseen.ontology.taxonomy import Taxonomy


def read_taxonomy(path: Path) -> Taxonomy:
    """A taxonomy from a CSV file with the columns `child,parent` and optionally `name` (of the child).

    One line per edge; a concept with several parents has several lines. A line with an empty parent declares a concept
    without one, which is how a root gets a name. Several roots are joined under an added `(root)`; a repeated edge, two
    names for one concept, or a cycle is an error.
    """
    lines: dict[tuple[str, str], int] = {}
    names: dict[str, str] = {}
    for line, row in read_table(path, ["child", "parent"], ["name"]):
        child, parent, name = row["child"], row["parent"], row["name"]
        if not child:
            raise UserError(f"{path}, line {line}: no child")
        if (child, parent) in lines:
            raise UserError(f"{path}, line {line}: {child} → {parent} was already given on line {lines[child, parent]}")
        if name and names.setdefault(child, name) != name:
            raise UserError(f"{path}, line {line}: {child} is named {name} here and {names[child]} before")
        lines[child, parent] = line
    if not lines:
        raise UserError(f"{path}: contains no edges")
    try:
        return Taxonomy.from_edges(lines, names)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
