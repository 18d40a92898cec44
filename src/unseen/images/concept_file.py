"""A file that says what a concept study of the user's own is of: which classes are seen, and which are in which domain.

A TOML file says it all:

    images = "images"                  # a folder per class, or a list of paths and classes
    seen = ["dog", "cat"]              # or a file with one class per line
    levels = 3                         # built from all other classes, by similarity to the seen ones …

    [domains]                          # … or domains by name
    tools = ["hammer", "saw"]

    [concepts]                         # what a word means that means several things
    crane = "crane.n.05"

A CSV file with the columns class and domain says which class is in which domain; `seen` is the domain of those seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from unseen.errors import UserError
from unseen.files import read_table
from unseen.ontology.class_lists import read_class_list
from unseen.reading.toml_records import beside, read_toml

SEEN_DOMAIN = "seen"
SUFFIXES = (".toml", ".csv")
Classes = tuple[str, ...] | str
"""Names of classes, or a file with one per line."""


@dataclass(frozen=True)
class ConceptFile:
    """What the file says; paths are relative to it.

    Attributes:
        images: a folder per class, a list of paths and classes, tar files: whatever `unseen extract` takes.
        test_images: another such place, all of which tests, while all of `images` trains.
        train_split, test_split: words in the column `split` of a list, or splits of a data set, instead of a draw.
        seen: classes that backbones were trained on.
        seen_name: what their domain is called.
        unseen: classes to build levels from; all others of the images unless given.
        levels, size: how many levels of how many classes; by default all classes are spread over three.
        taxonomy: a CSV file with the columns child,parent, instead of WordNet 3.0.
        domains: name of a domain → its classes, instead of levels.
        concepts: class → its concept in the taxonomy, where its name does not say.
        first_sense: whether a word with several meanings has its most frequent one.
        test: images of each class that test, a fifth of the smallest class unless given.
        train: at most so many images of each class train; all unless given.
        least: fewest images of a class that train.
        allow_duplicates: whether test images may be among those that train.
    """

    images: str = ""
    seen: Classes = ()
    name: str = ""
    seen_name: str = SEEN_DOMAIN
    test_images: str = ""
    train_split: str = ""
    test_split: str = ""
    unseen: Classes = ()
    levels: int = 3
    size: int = 0
    measure: str = "lin"
    taxonomy: str = ""
    domains: Mapping[str, Classes] = field(default_factory=dict)
    concepts: Mapping[str, str] = field(default_factory=dict)
    first_sense: bool = False
    test: int = 0
    train: int = 0
    least: int = 1
    allow_duplicates: bool = False


@dataclass(frozen=True)
class Description:
    """A file that was read.

    Attributes:
        seen, unseen: classes; no `unseen` for all that are not seen.
        domains: of the unseen classes, in order; empty where levels are to be built.
        images: places by "train" and "test", the latter where it is another.
    """

    path: Path
    file: ConceptFile
    seen: tuple[str, ...]
    unseen: tuple[str, ...]
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    images: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def name(self) -> str:
        return self.file.name or self.path.stem

    @property
    def taxonomy(self) -> Path | None:
        return beside(self.path, self.file.taxonomy) if self.file.taxonomy else None


def is_concept_file(path: Path) -> bool:
    """Whether a file is one of these: any TOML file, or a CSV file with the columns class and domain."""
    if path.suffix.lower() == ".csv" and path.is_file():
        with path.open("rb") as file:
            header = file.readline(1 << 16).decode("utf-8-sig", errors="replace")
        return {"class", "domain"} <= {name.strip().strip('"') for name in header.split(",")}
    return path.suffix.lower() == ".toml"


def read_concept_file(path: Path, images: Path | None = None) -> Description:
    """What a TOML or CSV file says; a class in two domains, or twice in one, is refused.

    Args:
        images: another place than the file says; a CSV file says none.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: expected a .toml file, or a .csv file with the columns class and domain")
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    file, lists = _of_table(path) if path.suffix.lower() == ".csv" else _of_toml(path)
    seen = lists.pop(file.seen_name)
    unseen = _classes(path, file.unseen, "unseen")
    _refuse_shared({file.seen_name: seen, **lists, **({"unseen": unseen} if unseen else {})}, path)
    for key in ("levels", "size", "test", "train", "least"):
        if getattr(file, key) < (1 if key in {"levels", "least"} else 0):
            raise UserError(f"{path}: {key} must be at least {1 if key in {'levels', 'least'} else 0}")
    if unseen and lists:
        raise UserError(f"{path}: unseen is of classes to build levels from; [domains] says them all: leave one out")
    places = {"train": images or (beside(path, file.images) if file.images else None)}
    if places["train"] is None:
        raise UserError(f"{path}: say where the images are: images = … in a TOML file, or --images")
    if file.test_images:
        places["test"] = beside(path, file.test_images)
    if bool(file.test_split) != bool(file.train_split):
        raise UserError(f"{path}: give train_split and test_split, or neither")
    return Description(path, file, seen, unseen, lists, {side: place for side, place in places.items() if place})


def _of_toml(path: Path) -> tuple[ConceptFile, dict[str, tuple[str, ...]]]:
    file = read_toml(path, ConceptFile)
    if not file.seen:
        raise UserError(f'{path}: say which classes are seen: seen = ["…", "…"], or a file of them')
    if file.seen_name in file.domains:
        raise UserError(f"{path}: [domains] has {file.seen_name}, which is what the seen classes are called")
    domains = {name: _classes(path, classes, f"[domains] {name}") for name, classes in file.domains.items()}
    return file, {file.seen_name: _classes(path, file.seen, "seen"), **domains}


def _of_table(path: Path) -> tuple[ConceptFile, dict[str, tuple[str, ...]]]:
    rows, concepts = dict[str, list[str]](), dict[str, str]()
    for line, row in read_table(path, ("class", "domain"), ("concept",)):
        if not row["class"] or not row["domain"]:
            raise UserError(f"{path}, line {line}: a class or a domain is empty")
        rows.setdefault(row["domain"], []).append(row["class"])
        if row["concept"]:
            concepts[row["class"]] = row["concept"]
    if SEEN_DOMAIN not in rows or len(rows) < 2:
        raise UserError(f"{path}: the column domain must have {SEEN_DOMAIN} and one other domain at least")
    return ConceptFile(concepts=concepts), {name: tuple(classes) for name, classes in rows.items()}


def _classes(path: Path, classes: Classes, what: str) -> tuple[str, ...]:
    if isinstance(classes, str):
        return read_class_list(beside(path, classes)) if classes else ()
    if not all(name and name.isprintable() for name in classes):
        raise UserError(f"{path}, {what}: a class has no name, or one that is not plain text")
    return classes


def _refuse_shared(domains: Mapping[str, tuple[str, ...]], path: Path) -> None:
    """Refuse a class that is in two domains, or twice in one."""
    found = dict[str, str]()
    for domain, classes in domains.items():
        for name in classes:
            if name in found:
                both = f"twice in {domain}" if found[name] == domain else f"in {found[name]} and in {domain}"
                raise UserError(f"{path}: the class {name} is {both}; a class is in one domain")
            found[name] = domain
