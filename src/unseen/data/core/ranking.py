"""What the images of a retrieval benchmark are to its queries, in the single label string of a manifest.

A query is labelled with its number, `query:7`. An image of the database is labelled with the queries that it is
relevant for, by how hard it is to recognise, and those whose rankings it is removed from: `easy:3,7+hard:12+junk:5`, or
`none`. The hash of a manifest therefore covers all relations, and extracted features carry them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

Relation = Literal["easy", "hard", "junk"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
CODES: Mapping[Relation, int] = {"easy": 1, "hard": 2, "junk": 3}
"""What stands for a relation in a matrix, where 0 is none."""
NOTHING = "none"
QUERY = re.compile(r"query:(0|[1-9][0-9]{0,5})")
PART = re.compile(r"(easy|hard|junk):([0-9]+(?:,[0-9]+)*)")


def query_label(number: int) -> str:
    """The label of a query."""
    return f"query:{number}"


def image_label(queries: Mapping[Relation, Sequence[int]]) -> str:
    """The label of an image of the database, from the numbers of the queries of each relation."""
    parts = (f"{name}:{','.join(map(str, sorted(queries[name])))}" for name in RELATIONS if queries.get(name))
    return "+".join(parts) or NOTHING


def relations(database: Sequence[str], queries: Sequence[str], where: str) -> NDArray[np.int8]:
    """(n, m) codes of what each image of the database is to each query; labels that make no sense are refused.

    Args:
        database, queries: labels of images, in order.
        where: what the labels are of, in error messages.
    """
    places = {_query_number(label, where): place for place, label in enumerate(queries)}
    if len(places) < len(queries):
        raise UserError(f"{where}: two queries have the same number; give each its own, as in query:0, query:1")
    found = np.zeros((len(database), len(queries)), dtype=np.int8)
    rows = dict[str, NDArray[np.int8]]()
    for image, label in enumerate(database):
        if label not in rows:
            rows[label] = _row(label, places, where)
        found[image] = rows[label]
    return found


def _query_number(label: str, where: str) -> int:
    matched = QUERY.fullmatch(label)
    if matched is None:
        raise UserError(f"{where}: a query has the label {label!r}, not its number, as in query:7")
    return int(matched[1])


def _row(label: str, places: Mapping[int, int], where: str) -> NDArray[np.int8]:
    """The codes of one image; relations to queries that are left out, as in a part of the data set, are dropped."""
    row = np.zeros(len(places), dtype=np.int8)
    seen = set[int]()
    for part in label.split("+") if label != NOTHING else ():
        matched = PART.fullmatch(part)
        if matched is None:
            raise UserError(f"{where}: an image has the label {label!r}, not its queries, as in easy:3,7+junk:5")
        for number in map(int, matched[2].split(",")):
            if number in seen:
                raise UserError(f"{where}: the label {label!r} names the query {number} twice")
            seen.add(number)
            if number in places:
                row[places[number]] = CODES[matched[1]]  # type: ignore[index]
    return row
