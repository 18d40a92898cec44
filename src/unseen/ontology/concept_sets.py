"""Sets of concepts, by name or from a user's file, and the number of images of each concept."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from unseen.errors import UserError, did_you_mean
from unseen.files import read_table, read_text
from unseen.ontology.class_names import concept_of_word, is_concept
from unseen.ontology.taxonomy import ADDED_ROOT, Taxonomy
from unseen.ontology.wordnet import CONCEPT_SETS, wordnet


def concept_set(name: str, taxonomy: Taxonomy) -> tuple[str, ...]:
    """Ids of a set: `imagenet-1k`, `imagenet-21k`, `taxonomy` (every concept in it), or a file with one id per line.

    In a file, a line is an id or begins with one; ` #` starts a comment. With WordNet, names (`tiger_cat.n.02`) and
    words with a single meaning are also accepted; in a user's own taxonomy, names that are unique.
    """
    if name in CONCEPT_SETS:
        return wordnet().members(name)
    if name == "taxonomy":
        return tuple(node for node in taxonomy.ids if node != ADDED_ROOT)
    path = Path(name)
    if not path.suffix and not path.exists():
        known = [*CONCEPT_SETS, "taxonomy"]
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}, or give a file of ids"
        raise UserError(f"no set of concepts '{name}'{hint}")
    return read_ids(path, taxonomy)


def read_ids(path: Path, taxonomy: Taxonomy) -> tuple[str, ...]:
    """The ids in a file, in its order; an id that is not in the taxonomy, or occurs twice, is an error."""
    ids: dict[str, int] = {}
    for line, text in enumerate(read_text(path).splitlines(), start=1):
        whole = re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
        if not whole:
            continue
        word = taxonomy is wordnet().taxonomy and wordnet().find(whole)
        key = whole if word or whole in taxonomy.position else re.split(r"[\s,]", whole, maxsplit=1)[0]
        try:
            wnid = concept_of_word(key, taxonomy)
        except UserError as error:
            raise UserError(f"{path}, line {line}: {error}") from None
        if wnid in ids:
            raise UserError(f"{path}, line {line}: {key} was already given on line {ids[wnid]}")
        ids[wnid] = line
    if not ids:
        raise UserError(f"{path}: contains no concept ids")
    return tuple(ids)


def read_counts(path: Path, universe: Sequence[str], taxonomy: Taxonomy | None = None) -> dict[str, int]:
    """Images per concept from a CSV with the columns `wnid,images`; every concept of the universe must occur.

    Concepts are given by id, by name or by a word with one meaning. Others than those of the taxonomy are kept.

    Args:
        taxonomy: the whole taxonomy of a user; None for WordNet 3.0.
    """
    counts: dict[str, int] = {}
    for line, row in read_table(path, ["wnid", "images"]):
        key, text = row["wnid"], row["images"]
        try:
            wnid = concept_of_word(key, taxonomy) if is_concept(key, taxonomy) else key
        except UserError as error:
            raise UserError(f"{path}, line {line}: {error}") from None
        if wnid in counts:
            raise UserError(f"{path}, line {line}: {wnid} occurs twice")
        if not re.fullmatch(r"-?[0-9]{1,15}", text):
            raise UserError(f"{path}, line {line}: images must be a whole number, found '{text}'")
        counts[wnid] = int(text)
        if counts[wnid] < 0:
            raise UserError(f"{path}, line {line}: {wnid} has a negative number of images, {text}")
    missing = [concept for concept in universe if concept not in counts]
    if missing:
        more = f" and {len(missing) - 1} more of the universe" if len(missing) > 1 else ", a concept of the universe"
        raise UserError(f"{path}: no line for {missing[0]}{more}; add it, with 0 if it has no images")
    return counts


def counts_by_id(counts: Mapping[str, int], universe: Sequence[str], taxonomy: Taxonomy) -> dict[str, int]:
    """Images per concept of the universe, from counts by id or name; a concept without a count has 0 images."""
    by_id = {concept_of_word(key, taxonomy): number for key, number in counts.items()}
    if len(by_id) < len(counts):
        raise UserError("counts has a concept twice, for instance by its id and by its name; give each once")
    return dict.fromkeys(universe, 0) | by_id
