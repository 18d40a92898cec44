"""Mapping the classes of one data set to those of another, by WordNet or from a file.

By WordNet, a target class stands for synsets, and a concept belongs to the class if it is one of them or below one. A
concept below two classes is ambiguous and belongs to neither.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError
from unseen.files import read_table, table_header, write_table
from unseen.ontology.wordnet import wordnet

CIFAR_10 = "cifar-10"
CIFAR_10_SYNSETS: Mapping[str, tuple[str, ...]] = {
    "airplane": ("airplane.n.01",),
    "automobile": ("car.n.01",),
    "bird": ("bird.n.01",),
    "cat": ("cat.n.01",),
    "deer": ("deer.n.01",),
    "dog": ("dog.n.01",),
    "frog": ("frog.n.01",),
    "horse": ("horse.n.01",),
    "ship": ("ship.n.01",),
    "truck": ("truck.n.01",),
}
"""Synsets of the classes of CIFAR-10, chosen by hand. ImageNet-1K has no deer: by WordNet nothing maps to it."""
COLUMNS = ("wnid", "class")


@dataclass(frozen=True)
class ClassMapping:
    """Concepts and their classes.

    Attributes:
        targets: all classes, including those without concepts.
        of: concept → class.
        ambiguous: concept → the several classes it could belong to.
    """

    targets: tuple[str, ...]
    of: Mapping[str, str]
    ambiguous: Mapping[str, tuple[str, ...]]

    def members(self, target: str) -> tuple[str, ...]:
        """The concepts of a class, in order."""
        return tuple(wnid for wnid, name in self.of.items() if name == target)

    def write(self, path: Path) -> None:
        """Write a CSV file with the columns wnid, class."""
        write_table(path, COLUMNS, iter(self.of.items()))


def map_by_wordnet(concepts: Sequence[str], targets: Mapping[str, Sequence[str]]) -> ClassMapping:
    """Map concepts, given by id, that are at or below the synsets (ids or names) of each target class."""
    net = wordnet()
    taxonomy = net.taxonomy
    nodes = taxonomy.index(concepts, "WordNet 3.0")
    below = {
        target: taxonomy.below(taxonomy.index([net.wnid(key) for key in keys]))[nodes]
        for target, keys in targets.items()
    }
    classes = {
        wnid: tuple(target for target, inside in below.items() if inside[place]) for place, wnid in enumerate(concepts)
    }
    return ClassMapping(
        targets=tuple(targets),
        of={wnid: names[0] for wnid, names in classes.items() if len(names) == 1},
        ambiguous={wnid: names for wnid, names in classes.items() if len(names) > 1},
    )


def imagenet_to_cifar10() -> ClassMapping:
    """The classes of ImageNet-1K that belong to a class of CIFAR-10."""
    return map_by_wordnet(wordnet().members("imagenet-1k"), CIFAR_10_SYNSETS)


def choose_mapping(name: str | Path) -> ClassMapping:
    """A mapping by its name, `cifar-10`, or from a CSV file."""
    return imagenet_to_cifar10() if name == CIFAR_10 else read_mapping(Path(name))


def read_mapping(path: Path) -> ClassMapping:
    """Read a mapping from a CSV file with the columns wnid (or label) and class; each concept may occur once.

    In the column wnid, names such as `tabby.n.01` stand for their ids.
    """
    class_of = dict[str, str]()
    key = "label" if "label" in table_header(path) else COLUMNS[0]
    for line, row in read_table(path, (key, COLUMNS[1])):
        wnid, target = row[key], row[COLUMNS[1]]
        if key == COLUMNS[0] and ".n." in wnid:
            try:
                wnid = wordnet().wnid(wnid)
            except UserError as error:
                raise UserError(f"{path}, line {line}: {error}") from None
        if not wnid or not target or wnid in class_of:
            raise UserError(f"{path}, line {line}: {wnid or 'a concept'} occurs twice, or a field is empty")
        class_of[wnid] = target
    if not class_of:
        raise UserError(f"{path}: contains no concepts")
    return ClassMapping(tuple(dict.fromkeys(class_of.values())), class_of, {})


def mapping_rows(mapping: ClassMapping) -> Iterator[tuple[str, int, str]]:
    """(class, number of concepts, their names) of every target, with WordNet's names if known."""
    net = wordnet()
    for target in mapping.targets:
        members = mapping.members(target)
        names = (net.lemmas(net.position[key])[0].replace("_", " ") if key in net.position else key for key in members)
        yield target, len(members), ", ".join(names)
