"""A user's description of a data set, from a TOML file or from the layout of a folder."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from unseen.data.core.dataset import Metric, Test, Validation
from unseen.data.core.rows import SPLIT_FOLDERS
from unseen.data.own.own_data import ONE_SPLIT_KEYS, SPLIT_KEYS, OwnData, SplitTable
from unseen.data.registry import dense_sets, task_sets
from unseen.data.sources.parquet_images import has_several
from unseen.data.sources.repository import is_repository, repository_splits, split_word
from unseen.errors import UserError
from unseen.files import is_plain_name
from unseen.ontology.class_lists import read_class_list
from unseen.reading.toml_records import beside, read_record, read_toml

SUFFIX = ".toml"
IMAGES, MASKS, CLASSES = "images", "masks", "classes.txt"
IN_TOML = "say which is which in a .toml file"
RESERVED = "imagenet"
"""Name under which accuracy on ImageNet is stored."""
EXPECTED = (
    "a data set is a folder with train and test and one folder per class in each, a folder with images and masks or "
    "COCO's files, a repository with Parquet files, or a .toml file that says where its images are"
)


@dataclass(frozen=True)
class Description:
    """The description of a data set, and the file that its paths are relative to.

    Attributes:
        place: the path given by the user, for error messages.
    """

    place: Path
    file: Path
    table: OwnData

    @property
    def splits(self) -> dict[str, SplitTable]:
        """The splits that are given, in order."""
        tables = {split: getattr(self.table, split) for split in (*SPLIT_FOLDERS, "all")}
        return {split: table for split, table in tables.items() if table is not None}

    @property
    def folders(self) -> list[Path]:
        """The folders of the data set: that of a description without a file, and those of the splits."""
        texts = [text for table in self.splits.values() for text in (table.images, table.root, table.annotations)]
        places = [self.path(text) for text in texts if text]
        return [place for place in (self.place, *places) if place.is_dir()]

    @property
    def test(self) -> Test | None:
        """How test images are chosen; None if there are no splits."""
        if self.table.all is None:
            return "author"
        return "fifth" if self.table.draw_splits else None

    @property
    def validation(self) -> Validation | None:
        """How validation images are chosen; None if there are no splits."""
        if self.test is None:
            return None
        return "fifth" if self.table.val is None else "author"

    @property
    def dense(self) -> bool:
        """Whether labels are boxes or maps."""
        return self.table.task != "classification"

    @property
    def several(self) -> bool:
        """Whether images have several classes."""
        return self.table.metric == "map-11-point"

    @property
    def title(self) -> str:
        return self.table.title or self.table.name

    def path(self, text: str) -> Path:
        return beside(self.file, text)

    def classes(self) -> tuple[str, ...]:
        """The class names in order; empty if the description does not give them."""
        given = self.table.classes
        if given is None:
            return ()
        where = f"{self.place}, classes"
        if not isinstance(given, tuple):
            path = self.path(fspath(given))
            given, where = read_class_list(path), str(path)
        twice = next((name for name, count in Counter(given).items() if count > 1), None)
        if twice is not None:
            raise UserError(f"{where}: {twice} occurs twice; name each class once")
        if len(given) < 2:
            raise UserError(f"{where}: contains only {', '.join(given)}; at least two classes are needed")
        if not all(name and name.isprintable() for name in given):
            raise UserError(f"{where}: a name is empty or not plain text")
        return given


def is_own(word: "str | PathLike[str]") -> bool:
    """Whether a user's argument is the path of an own data set rather than the name of a known one."""
    if not isinstance(word, str):
        return True
    if word in task_sets() or word in dense_sets():
        return False
    return "/" in word or "\\" in word or word.lower().endswith(SUFFIX) or Path(word).exists()


def describe(place: Path) -> Description:
    """Read the description from a file or a folder; names already in use and missing splits are refused."""
    if place.is_dir():
        description = Description(place, place / "any", _of_folder(place))  # paths are relative to a file in the folder
    elif place.suffix.lower() == SUFFIX:
        description = Description(place, place, read_toml(place, OwnData))
    elif place.is_file():
        raise UserError(f"{place}: not a .toml file or a folder; {EXPECTED}")
    else:
        raise UserError(f"{place}: no such file or folder; {EXPECTED}")
    return _checked(description)


def describe_table(name: str, table: Mapping[str, Any], root: Path | None) -> Description:
    """The description of a data set in a table of a study, with the keys of a data set's own file.

    Args:
        root: folder below which paths are looked up that do not exist as they are.
    """
    place = Path(f"[data.{name}]")
    return _checked(Description(place, Path("any"), own_table(name, table, root)))


def describe_parts(name: str, splits: Iterable[str], *, several: bool) -> Description:
    """The description of a data set whose splits are open.

    Args:
        several: whether images have several classes.
    """
    tables = {split: SplitTable("in Python") for split in splits}
    own = OwnData(
        name=name, metric="map-11-point" if several else "top1", train=tables.get("train"), val=tables.get("val"),
        test=tables.get("test"), all=tables.get("all"),
    )  # fmt: skip
    return _checked(Description(Path(name), Path("any"), own))


def own_table(name: str, table: Mapping[str, Any], root: Path | None) -> OwnData:
    """A table of a study as the record of a data set; a text for a split is the place of its images.

    Then the keys `label`, `image`, `root`, `config` and `split` beside it are for all splits.
    """
    where, values = f"[data.{name}]", {"name": name, **{key.replace("-", "_"): each for key, each in table.items()}}
    texts = [split for split in SPLIT_KEYS if isinstance(values.get(split), str)]
    if texts:
        shared = {key: values.pop(key) for key in ("label", "image", "root", "config", "split") if key in values}
        values |= {split: {"images": values[split], **shared} for split in texts}
    return located(read_record(values, OwnData, where), root)


def located(own: OwnData, root: Path | None) -> OwnData:
    """The record with places below a folder where they do not exist as they are."""

    def found(text: Any) -> Any:
        if not isinstance(text, str) or root is None or Path(text).exists() or not (root / text).exists():
            return text
        return str(root / text)

    splits = {name: getattr(own, name) for name in SPLIT_KEYS}
    placed = {
        name: replace(each, images=found(each.images), root=found(each.root), annotations=found(each.annotations))
        for name, each in splits.items()
        if each is not None
    }
    return replace(
        own, images=found(own.images), root=found(own.root), classes=found(own.classes), mapping=found(own.mapping),
        **placed,
    )  # fmt: skip


def _checked(description: Description) -> Description:
    description = _with_splits(description)
    if key := next(description.table.given(ONE_SPLIT_KEYS), None):
        raise UserError(f"{description.place}: the key '{key}' is for test sets; a data set has [train] and [test]")
    _check_name(description)
    _check_splits(description)
    return description


def refuse_same_names(names: Iterable[str]) -> None:
    """Refuse data sets with equal names, since their scores could not be told apart."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise UserError(f"two data sets are named '{twice}'; rename one")


def _of_folder(folder: Path) -> OwnData:
    """The description of a folder, from its layout."""
    name = folder.resolve().name
    files = {split: f"{split}.json" for split in ("train", "test")}
    if all((folder / file).is_file() for file in files.values()):
        train, test = (SplitTable(IMAGES, annotations=file) for file in files.values())
        return OwnData(name=name, task="detection", train=train, test=test)
    if (folder / MASKS).is_dir() and (folder / CLASSES).is_file():
        train, test = (SplitTable(f"{IMAGES}/{split}", annotations=f"{MASKS}/{split}") for split in files)
        return OwnData(name=name, task="segmentation", classes=CLASSES, train=train, test=test)
    if is_repository(folder):
        return OwnData(".", name)
    there = {split: [word for word in words if (folder / word).is_dir()] for split, words in SPLIT_FOLDERS.items()}
    twice = next((words for words in there.values() if len(words) > 1), None)
    if twice:
        raise UserError(f"{folder}: has {' and '.join(twice)}, which are the same split; choose one in a .toml file")
    if not there["train"] and not there["test"]:
        unsplit = "; for unsplit images, use [all] in a .toml file"
        raise UserError(f"{folder}: contains neither train nor test; {EXPECTED}{unsplit}")
    tables = {split: SplitTable(words[0]) for split, words in there.items() if words}
    return OwnData(name=name, train=tables.get("train"), val=tables.get("val"), test=tables.get("test"))


def _with_splits(description: Description) -> Description:
    """The description of a repository's splits, if it only says where the repository is."""
    table = description.table
    if not table.images or description.splits or description.dense:
        return description
    place = description.path(fspath(table.images))
    if not place.is_dir() or not is_repository(place):
        return description
    names = repository_splits(place, table.config)
    called = {word: [name for name in names if split_word(name) == word] for word in SPLIT_FOLDERS}
    if twice := next((several for several in called.values() if len(several) > 1), None):
        raise UserError(f"{description.place}: has {' and '.join(twice)}, which are the same split; {IN_TOML}")
    lacking = [word for word in ("train", "test") if not called[word]]
    if lacking:
        other = next((name for name in names if split_word(name) != "train"), "validation")
        raise UserError(
            f"{description.place}: has the splits {', '.join(names)}, but no split {' or '.join(lacking)}; {IN_TOML}, "
            f'such as: name = "my-set"; [train] images = "{place}", split = "{next(iter(names))}"; '
            f'[test] images = "{place}", split = "{other}"'
        )
    root = None if table.root is None else fspath(table.root)

    def split(word: str) -> SplitTable | None:
        name = next(iter(called[word]), None)
        if name is None:
            return None
        return SplitTable(
            fspath(table.images), root=root, config=table.config, split=name, image=table.image, label=table.label
        )

    several = has_several(names[called["train"][0]][0], table.label)
    if several and not called["val"]:
        config = f', config = "{table.config}"' if table.config else ""
        given = (f'{word} = {{images = "{place}", split = "{called[word][0]}"{config}}}' for word in ("train", "test"))
        raise UserError(
            f"{description.place}: the repository has no validation split, which images with several classes need; "
            f'give one in a .toml file, such as: name = "my-set"; metric = "map-11-point"; {"; ".join(given)}; '
            'val = {images = "validation.parquet"}'
        )
    metric: Metric = "map-11-point" if several and table.metric == "top1" else table.metric
    left = replace(table, images="", root=None, config=None, image=None, label=None, metric=metric)
    return replace(description, table=replace(left, train=split("train"), val=split("val"), test=split("test")))


def _check_name(description: Description) -> None:
    name = description.table.name
    if not name:
        raise UserError(f"{description.place}: the key 'name' is missing")
    if not is_plain_name(name) or not name.isprintable() or name.startswith(".") or name != name.strip():
        raise UserError(
            f"{description.place}: {name!a} cannot be the name of a data set, since it is used for folder names"
        )
    if name in task_sets() or name in dense_sets() or name == RESERVED:
        how = "rename the folder, or give a .toml file" if description.place.is_dir() else "choose another"
        raise UserError(f"{description.place}: '{name}' is the name of another data set; {how}")


def _check_splits(description: Description) -> None:
    splits, table = description.splits, description.table
    if table.task != "classification":
        extra = next((split for split in ("val", "all") if split in splits), None)
        if extra:
            raise UserError(
                f"{description.place}: [{extra}] is for classification only; {table.task} uses [train] and [test]"
            )
        if table.metric != "top1":
            raise UserError(f"{description.place}: metric is for classification only; {table.task} has its own scores")
    if "all" in splits and len(splits) > 1:
        raise UserError(f"{description.place}: [all] is for unsplit images; remove it, or the other splits")
    if table.draw_splits and "all" not in splits:
        raise UserError(f"{description.place}: draw_splits is only for unsplit images ([all])")
    if description.several and "val" not in splits:
        raise UserError(
            f"{description.place}: images with several classes need given splits: [train], [val] and [test]"
        )
    lacking = [] if "all" in splits else [split for split in ("train", "test") if split not in splits]
    if lacking:
        if description.place.is_dir():
            tested = f"; to test on {table.val.images}, use a .toml file" if table.val and table.train else ""
            raise UserError(f"{description.place}: contains no folder {' or '.join(lacking)}{tested}; {EXPECTED}")
        words = " and ".join(f"[{split}]" for split in lacking)
        others = ", or [all] for unsplit images" if table.task == "classification" else ""
        raise UserError(f"{description.place}: {words} is missing; a data set has [train] and [test]{others}")
    for split, each in splits.items():
        dense = table.task != "classification"
        if dense and each.annotations is None:
            what = "the file in COCO's form" if table.task == "detection" else "the folder of maps"
            raise UserError(f"{description.place}, [{split}]: the key 'annotations' is missing; give {what}")
        wrong = ("root", "split", "image", "label") if dense else ("annotations",)
        given = next((name for name in wrong if getattr(each, name) is not None), None)
        if given:
            raise UserError(f"{description.place}, [{split}]: the key '{given}' is not used by the task {table.task}")
