"""Class lists, by a name that ships with the package or from a user's file."""

from pathlib import Path

from unseen.errors import UserError, did_you_mean
from unseen.files import read_table, read_text
from unseen.ontology.class_mapping import CIFAR_10, CIFAR_10_SYNSETS
from unseen.ontology.wordnet import CONCEPT_SETS, wordnet

SUBSETS = ("imagenet-a", "imagenet-r")
"""The 200 classes of ImageNet-1K in each of these test sets."""
CLASS_LISTS = (*CONCEPT_SETS, *SUBSETS, CIFAR_10)
COLUMN = "class"


def class_list(name: str | Path) -> tuple[str, ...]:
    """The classes of a list, in its order.

    Args:
        name: one of `CLASS_LISTS`, a CSV file with a column `class`, or a text file with one class per line.
    """
    if name in CONCEPT_SETS:
        return wordnet().members(str(name))
    if name == CIFAR_10:
        return tuple(CIFAR_10_SYNSETS)
    if name in SUBSETS:
        rows = read_table(Path(__file__).parent / "data/imagenet-subsets.csv", ("wnid", *SUBSETS))
        return tuple(row["wnid"] for _, row in rows if row[str(name)] == "yes")
    return read_class_list(Path(name))


def read_class_list(path: Path) -> tuple[str, ...]:
    """The classes in a CSV or text file, in its order; a class that occurs twice is an error."""
    if not path.is_file():
        known = ", ".join(CLASS_LISTS)
        raise UserError(
            f"no class list '{path}': it is neither one of {known} nor a file{did_you_mean(str(path), CLASS_LISTS)}"
        )
    if path.suffix.lower() == ".csv":
        lines = [(line, row[COLUMN]) for line, row in read_table(path, (COLUMN,))]
    else:
        lines = [(number, line.strip()) for number, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    classes = dict[str, int]()
    for line, name in lines:
        if not name or name in classes:
            raise UserError(f"{path}, line {line}: {name or 'a class'} occurs twice, or is empty")
        classes[name] = line
    if not classes:
        raise UserError(f"{path}: contains no classes")
    return tuple(classes)


def list_name(name: str) -> str:
    """Name of a class list in column names: its own name, or that of its file without the suffix."""
    return name if name in CLASS_LISTS else Path(name).stem
