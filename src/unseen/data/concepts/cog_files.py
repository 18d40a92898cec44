"""Import of the two files distributed by the ImageNet-CoG authors into our own formats."""

from pathlib import Path, PurePosixPath
from typing import Any

from unseen.data.core.splits import ClassSplit, Splits
from unseen.errors import UserError
from unseen.ontology.levels import SHIPPED, Concept, Levels, load_levels
from unseen.ontology.wordnet import wordnet
from unseen.reading.pickles import read_plain_pickle


def import_levels(path: Path) -> Levels:
    """Levels from `cog_levels_mapping_file.pkl`: a list of lists of synset ids, one per level.

    The file has neither ranks nor similarities. If its levels equal those of a shipped recipe, concept for concept, the
    rows of that recipe are returned under its name; otherwise the rank is the position in the file and the other
    columns stay empty.
    """
    lists: Any = read_plain_pickle(path)
    if not isinstance(lists, list) or not lists or not all(isinstance(level, list) and level for level in lists):
        raise UserError(f"{path}: expected a list of lists of synset ids, one per level")
    known = wordnet().position
    for number, level in enumerate(lists, start=1):
        for wnid in level:
            if not isinstance(wnid, str) or wnid not in known:
                raise UserError(f"{path}: level {number} contains {wnid!r}, which is not a noun synset of WordNet 3.0")
        if len(set(level)) < len(level):
            raise UserError(f"{path}: level {number} contains a concept twice")
    both = set[str]()
    for number, level in enumerate(lists, start=1):
        if both & set(level):
            raise UserError(f"{path}: {min(both & set(level))} is in level {number} and also in an earlier one")
        both |= set(level)
    for name in SHIPPED:
        shipped = load_levels(name)
        if len(shipped) == len(lists) and all(
            shipped.ids(number) == tuple(sorted(level)) for number, level in enumerate(lists, start=1)
        ):
            return shipped
    places = [(number, wnid) for number, level in enumerate(lists, start=1) for wnid in level]
    names = wordnet().names
    concepts = (
        Concept(number, rank, wnid, names[known[wnid]], None, "", None) for rank, (number, wnid) in enumerate(places)
    )
    return Levels(path.stem, tuple(concepts))


def import_splits(path: Path) -> Splits:
    """Splits from `cog_concepts_split_file.pkl`: {synset id: {"train": names, "test": names}}.

    Names are kept without their folders, since the images of a concept are in its own folder or tar file.
    """
    table: Any = read_plain_pickle(path)
    if not isinstance(table, dict) or not table:
        raise UserError(f"{path}: expected a dictionary from synset ids to their train and test images")
    classes: dict[str, ClassSplit] = {}
    for wnid in sorted(table, key=str):
        entry = table[wnid]
        if not isinstance(wnid, str) or not isinstance(entry, dict) or not {"train", "test"} <= entry.keys():
            raise UserError(f"{path}: {wnid!r} lacks the lists 'train' and 'test'")
        if wnid not in wordnet().position:
            raise UserError(f"{path}: {wnid} is not a noun synset of WordNet 3.0")
        sides = {side: _names(path, wnid, entry[side]) for side in ("train", "test")}
        if set(sides["train"]) & set(sides["test"]):
            raise UserError(f"{path}: an image of {wnid} is in both train and test")
        classes[wnid] = ClassSplit(**sides)
    return Splits(classes, source=path.name)


def _names(path: Path, wnid: str, files: Any) -> tuple[str, ...]:
    if not isinstance(files, list) or not all(isinstance(file, str) and file for file in files):
        raise UserError(f"{path}: the images of {wnid} are not a list of file names")
    names = sorted(PurePosixPath(file.replace("\\", "/")).name for file in files)
    if len(set(names)) < len(names) or not all(name and name.isprintable() for name in names):
        raise UserError(f"{path}: the images of {wnid} have names that are empty, repeated or not plain text")
    return tuple(names)
