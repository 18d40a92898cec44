"""A file that defines a user's own concept study: which classes are seen, and which class is in which domain.

A TOML file gives everything:

    images = "images"                  # a folder per class, or a list of paths and classes
    seen = ["dog", "cat"]              # or a file with one class per line
    levels = 3                         # built from all other classes, by similarity to the seen ones …

    [domains]                          # … or domains by name
    tools = ["hammer", "saw"]

    [concepts]                         # the meaning of an ambiguous word
    crane = "crane.n.05"

A CSV file with the columns class and domain assigns each class to a domain; the domain `seen` contains the seen
classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from unseen.errors import UserError, option
from unseen.files import read_table, table_header
from unseen.ontology.class_lists import read_class_list
from unseen.reading.toml_records import beside, read_toml

SEEN_DOMAIN = "seen"
SUFFIXES = (".toml", ".csv")
Classes = tuple[str, ...] | str
"""Names of classes, or a file with one name per line."""


@dataclass(frozen=True)
class ConceptFile:
    """The fields of the file; paths are relative to it.

    Attributes:
        images: a folder per class, a list of paths and classes, or tar files: anything that `unseen extract` accepts.
        test_images: a second place of that kind, used entirely for testing, while all of `images` is used for training.
        train_split, test_split: values in the column `split` of a list, or splits of a data set, used instead of a
            draw.
        seen: classes that the backbones were trained on.
        seen_name: name of the domain of seen classes.
        unseen: classes to build levels from; by default all other classes of the images.
        levels, size: number of levels, and classes per level; by default all classes are divided into three levels.
        taxonomy: a CSV file with the columns child,parent, used instead of WordNet 3.0.
        domains: domain name → its classes, instead of levels.
        concepts: class → its concept in the taxonomy, for names that do not identify one.
        first_sense: whether a word with several meanings is taken in its most frequent one.
        test: test images per class; by default a fifth of the smallest class.
        train: maximum number of training images per class; all by default.
        least: minimum number of training images per class.
        allow_duplicates: whether test images may also be training images.
        follow_links: whether links that lead out of the folders of images are followed.
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
    follow_links: bool = False


@dataclass(frozen=True)
class ConceptDescription:
    """A file that was read.

    Attributes:
        seen, unseen: classes; an empty `unseen` means all classes that are not seen.
        domains: the unseen classes by domain, in order; empty if levels are to be built.
        images: places of images under "train" and, if it is a different place, "test".
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
    """Whether the path is a concept file: any TOML file, or a CSV file with the columns class and domain."""
    if path.suffix.lower() == ".csv" and path.is_file():
        return {"class", "domain"} <= set(table_header(path))
    return path.suffix.lower() == ".toml"


def read_concept_file(path: Path, images: Path | None = None, *, features: bool = False) -> ConceptDescription:
    """Read a TOML or CSV file; a class in two domains, or twice in one, is refused.

    Args:
        images: a place of images that overrides the file's; needed for a CSV file, which has none.
        features: whether features are used instead of images, which need not be given then.
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
        raise UserError(f"{path}: unseen (classes to build levels from) cannot be combined with [domains]; remove one")
    places = {"train": images or (beside(path, file.images) if file.images else None)}
    if features:
        return ConceptDescription(path, file, seen, unseen, lists)
    if places["train"] is None:
        raise UserError(
            f"{path}: no images given; add images = … to a TOML file, or give the place of the images "
            f"({option('images')}) or their features ({option('features')})"
        )
    if file.test_images:
        places["test"] = beside(path, file.test_images)
    if bool(file.test_split) != bool(file.train_split):
        raise UserError(f"{path}: give train_split and test_split, or neither")
    return ConceptDescription(path, file, seen, unseen, lists, {side: place for side, place in places.items() if place})


def _of_toml(path: Path) -> tuple[ConceptFile, dict[str, tuple[str, ...]]]:
    file = read_toml(path, ConceptFile)
    if not file.seen:
        raise UserError(f'{path}: no seen classes given; add seen = ["…", "…"], or name a file with one class per line')
    if file.seen_name in file.domains:
        raise UserError(f"{path}: [domains] contains {file.seen_name}, which is the name of the seen domain")
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
        raise UserError(f"{path}: the column domain must contain {SEEN_DOMAIN} and at least one other domain")
    return ConceptFile(concepts=concepts), {name: tuple(classes) for name, classes in rows.items()}


def _classes(path: Path, classes: Classes, what: str) -> tuple[str, ...]:
    if isinstance(classes, str):
        return read_class_list(beside(path, classes)) if classes else ()
    if not all(name and name.isprintable() for name in classes):
        raise UserError(f"{path}, {what}: a class name is empty or not plain text")
    return classes


def _refuse_shared(domains: Mapping[str, tuple[str, ...]], path: Path) -> None:
    """Refuse a class that is in two domains, or twice in one."""
    domain_of = dict[str, str]()
    for domain, classes in domains.items():
        for name in classes:
            if name in domain_of:
                both = f"twice in {domain}" if domain_of[name] == domain else f"in {domain_of[name]} and in {domain}"
                raise UserError(f"{path}: the class {name} is {both}; each class belongs to exactly one domain")
            domain_of[name] = domain
