"""Information content of a concept, −ln p(c), with p(c) the share of concepts or occurrences at or below c."""

import math
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import read_table, read_text
from unseen.ontology.class_names import concept_of_word
from unseen.ontology.taxonomy import Ints, Taxonomy

Floats = NDArray[np.float64]


def information_content(taxonomy: Taxonomy, among: Ints | None = None) -> Floats:
    """IC(c) = −ln(count(c) / count(root)), count(c) = distinct concepts of `among` (default all nodes) at or below c.

    Over the taxonomy itself this is ImageNet-CoG's rule (after Resnik 1995, with concepts in place of words). A concept
    with no concept of `among` at or below it has infinite IC.
    """
    return _negative_log_share(taxonomy.descendant_counts(among).astype(np.float64))


def information_from_file(taxonomy: Taxonomy, path: Path) -> Floats:
    """IC over a whole taxonomy, WordNet's or a user's, from frequencies in a file in one of two formats.

    - CSV with the columns `wnid,count`: occurrences of each concept itself, which are added to all its ancestors here.
      Concepts are given by id, by name or by a word with one meaning. One that is not in the file has count zero; one
      that is not in the taxonomy is an error.
    - WordNet::Similarity's `ic-*.dat` (as in NLTK's `wordnet_ic`): lines `OFFSETn COUNT [ROOT]`, which already include
      ancestors and are used unchanged.

    The IC of a zero count is infinite; Lin, Resnik and Jiang-Conrath handle it as documented there.
    """
    if path.suffix == ".dat":
        return _negative_log_share(_read_dat(taxonomy, path))
    own = np.zeros(len(taxonomy))
    seen: set[str] = set()
    for line, row in read_table(path, ["wnid", "count"]):
        try:
            wnid = concept_of_word(row["wnid"], taxonomy)
        except UserError as error:
            raise UserError(f"{path}, line {line}: {error}") from None
        if wnid in seen:
            raise UserError(f"{path}, line {line}: {wnid} occurs twice")
        seen.add(wnid)
        own[taxonomy.position[wnid]] = _count(row["count"], path, line)
    weight = np.repeat(own, np.diff(taxonomy.ancestry.start))
    totals = np.bincount(taxonomy.ancestry.node, weights=weight, minlength=len(taxonomy))
    return _negative_log_share(totals.astype(np.float64))


def _read_dat(taxonomy: Taxonomy, path: Path) -> Floats:
    counts = np.zeros(len(taxonomy))
    roots = 0.0
    lines = read_text(path).splitlines()
    if not lines or not lines[0].startswith("wnver::"):
        raise UserError(f"{path}, line 1: expected the header 'wnver::…' of a WordNet::Similarity file")
    for line, text in enumerate(lines[1:], start=2):
        match = re.fullmatch(r"(\d+)([nv]) (\S+)( ROOT)?", text.strip())
        if not match:
            raise UserError(f"{path}, line {line}: expected 'OFFSETn COUNT', found '{text}'")
        if match[2] == "v":
            continue
        count = _count(match[3], path, line)
        node = taxonomy.position.get(f"n{int(match[1]):08d}")
        if node is not None:
            counts[node] = count
        if match[4]:
            roots += count
    top = int(np.flatnonzero(taxonomy.depth == 0)[0])
    counts[top] = roots or counts[top]
    return counts


def _count(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise UserError(f"{path}, line {line}: a count must be a number of at least 0, found '{text}'")
    return value


def _negative_log_share(counts: Floats) -> Floats:
    total = float(counts.max())
    if total <= 0:
        raise UserError("no occurrence of any concept: information content needs at least one")
    # One call of libm's log per distinct count: equal counts have bit-identical IC on every machine, so that ties in
    # similarity, which decide membership of a level, stay ties.
    values, where = np.unique(counts, return_inverse=True)
    content = np.array([math.inf if value == 0 else abs(math.log(value / total)) for value in values])
    return content[where]
