"""A user's own data with one split: test sets and training sets of the shift study.

A place is one of
- a folder with one folder per class, or any other place that `unseen.data.sources.open_source` can open;
- a text, CSV, TSV or Parquet file that names images and their labels (`unseen.data.sources.image_tables`);
- a TOML file with the fields of `OwnData`; if it describes a data set, its split `test` or `train` is taken;
- a folder that contains such a file as `test-set.toml`, as written by `unseen shifts captions`.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from unseen.data.captions.labelling import TEST_SET_FILE
from unseen.data.core.chosen import choose_images
from unseen.data.core.dataset import Dataset, LabelSpace
from unseen.data.core.links import links_within
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.rows import Listing, Row
from unseen.data.core.source import Entry
from unseen.data.own.own_data import DATASET_KEYS, PLACE_KEYS, OwnData, SplitTable
from unseen.data.sources.columns import CAPTION_COLUMNS, LABEL_COLUMNS
from unseen.data.sources.image_tables import table_listing
from unseen.data.sources.open_source import LIST, LIST_SUFFIXES, TORCHVISION, kind_of, open_images
from unseen.data.sources.repository import is_repository, repository_splits
from unseen.data.sources.torchvision_sets import PREFIX
from unseen.errors import UserError, did_you_mean, names_of
from unseen.ontology.class_lists import CLASS_LISTS, class_list
from unseen.ontology.class_mapping import CIFAR_10, choose_mapping
from unseen.reading.toml_records import beside, read_toml

Side = Literal["train", "test"]
OWN: LabelSpace = "your own"
RESERVED = ("model", "group", "classifier", "own", "shared")
"""Other columns in tables of accuracies, and keywords of class lists."""


def own_set(place: str | PathLike[str] | OwnData, split: Side = "test") -> OwnData:
    """The test set or training set at a place, with a name.

    Args:
        split: the split to take of a data set that has several.
    """
    if isinstance(place, OwnData):
        own = place
    else:
        path = Path(place)
        file = path / TEST_SET_FILE if (path / TEST_SET_FILE).is_file() else path
        own = _read(file, split) if file.suffix == ".toml" else OwnData(path)
        if not own.name and file.name == TEST_SET_FILE:
            own = replace(own, name=file.absolute().parent.name)
        elif not own.name and file.suffix == ".toml":
            own = replace(own, name=file.stem)
    images = Path(own.images).absolute()
    if own.split is None and images.is_dir() and is_repository(images):
        splits = repository_splits(images, own.config)
        own = replace(own, split=split if len(splits) > 1 else None)
    name = own.name or (images.stem if images.suffix.lower() in LIST_SUFFIXES else images.name)
    if not name or not name.isprintable() or "/" in name or name.startswith(".") or name in RESERVED:
        raise UserError(
            f"a test set cannot be named {name!r}, since the name is used for files and for a table column; choose "
            "another (name, in a TOML file)"
        )
    return replace(own, name=name)


def open_test_set(place: str | PathLike[str] | OwnData, *, partial: bool = False) -> OpenDataset:
    """Open a user's own test set; files or labels that contradict its description are refused.

    Args:
        partial: use the images that exist although others are missing.
    """
    own = own_set(place)
    listing = own_listing(own)
    absent = missing_images(own, listing)
    if absent and not partial:
        raise UserError(f"{absent}; to score the others, allow an incomplete test set (partial)")
    rows, notes = mapped_rows(own, listing.rows)
    labels = [row.label for row in rows]
    if own.classes is not None:
        refuse_unlisted(own, labels)
    place_of = {row.id: number for number, row in enumerate(listing.rows)}
    source = choose_images(listing.open(), [place_of[row.id] for row in rows], labels, own.name)
    dataset = Dataset(
        name=own.name, title=own.title or own.name, classes=len(set(labels)), counts={"test": len(rows)},
        licence=own.licence, citation=own.citation, shifted=own.shifted, space=OWN,
    )  # fmt: skip
    manifest = Manifest([Entry(row.id, row.label) for row in rows], [dataset.split] * len(rows))
    return OpenDataset(dataset, source, manifest, notes=(*([absent] if absent else ()), *notes))


def refuse_same_names(sets: Sequence[OpenDataset], known: Collection[str]) -> None:
    """Refuse test sets that share a name, also with a test set of the package: they would share a column."""
    own = [each.name for each in sets if each.dataset.space == OWN]
    counts = Counter(each.name for each in sets)
    twice = next((name for name in own if counts[name] > 1), None)
    if twice is not None:
        raise UserError(f"two test sets are named '{twice}'; give one of them another name (name, in its TOML file)")
    taken = next((name for name in own if name in known), None)
    if taken is not None:
        raise UserError(
            f"your own test set is named '{taken}', like a published one; give it another name (name, in its TOML file)"
        )


def _read(file: Path, split: Side) -> OwnData:
    """The data that a TOML file describes; names of class lists and mappings of the package are kept."""
    own = read_toml(file, OwnData)
    table: SplitTable | None = getattr(own, split)
    if table is not None:
        if key := next(own.given(PLACE_KEYS), None):
            raise UserError(f"{file}: the key '{key}' belongs in [{split}]")
        if own.task != "classification":
            raise UserError(f"{file}: its task is {own.task}, but a {split} set has classes")
        own = replace(own, **{key: getattr(table, key) for key in PLACE_KEYS})
    elif key := next(own.given(DATASET_KEYS), None):
        raise UserError(f"{file}: the key '{key}' is for data sets with [train] and [test], not for a {split} set")
    if not own.images:
        raise UserError(f"{file}: the key 'images' is missing")

    def place(text: str | PathLike[str] | None, known: Sequence[str] = ()) -> Any:
        if text is None or text in known or fspath(text).startswith(PREFIX):
            return text
        return beside(file, fspath(text))

    return replace(
        own,
        images=place(own.images),
        root=place(own.root),
        classes=own.classes if isinstance(own.classes, tuple) else place(own.classes, CLASS_LISTS),
        mapping=place(own.mapping, (CIFAR_10,)),
    )


def own_listing(own: OwnData, *, captions: bool = False) -> Listing:
    """The images of a place with their labels, or with their captions instead of labels."""
    with links_within(follow=own.follow_links):
        return _listing(own, captions=captions)


def _listing(own: OwnData, *, captions: bool) -> Listing:
    images, root = Path(own.images), None if own.root is None else Path(own.root)
    column, usual = (own.caption, CAPTION_COLUMNS) if captions else (own.label, LABEL_COLUMNS)
    kind = TORCHVISION if fspath(own.images).startswith(PREFIX) else kind_of(images, own.image)
    if kind is LIST:
        return table_listing(images, root=root, image=own.image, label=column, split=own.split, labels=usual)
    source = open_images(
        fspath(own.images), split=own.split, root=root, config=own.config, label=column, image=own.image,
        captions=captions and "captions" in kind.options,
    )  # fmt: skip
    rows = [Row(entry.id, entry.label, "") for entry in source.entries]
    return Listing(rows, lambda: source)


def missing_images(own: OwnData, listing: Listing) -> str:
    """A sentence that counts and names missing images; empty if there are none."""
    if not listing.missing:
        return ""
    count = f"{len(listing.missing):,} of {len(listing.rows) + len(listing.missing):,}"
    return f"{own.name}: {count} images are missing or empty: {names_of(listing.missing)}"


def mapped_rows(own: OwnData, rows: Sequence[Row]) -> tuple[Sequence[Row], tuple[str, ...]]:
    """Rows with the classes that a mapping assigns to their labels, and notices about rows left out."""
    if own.mapping is None:
        return rows, ()
    class_of: Mapping[str, str] = choose_mapping(str(own.mapping)).of
    kept = [row._replace(label=class_of[row.label]) for row in rows if row.label in class_of]
    lost = Counter(row.label for row in rows if row.label not in class_of)
    if not kept:
        raise UserError(f"{own.name}: the mapping {own.mapping} has none of its labels, such as {rows[0].label}")
    if not lost:
        return kept, ()
    left_out = f"{own.name}: {sum(lost.values()):,} images are left out because the mapping lacks their labels"
    return kept, (f"{left_out}: {names_of([*lost])}",)


def refuse_unlisted(own: OwnData, labels: Sequence[str]) -> None:
    known = set(own.classes if isinstance(own.classes, tuple) else class_list(str(own.classes)))
    odd = Counter(label for label in labels if label not in known)
    if odd:
        first, listed = next(iter(odd)), "" if isinstance(own.classes, tuple) else f"{own.classes} "
        raise UserError(
            f"{own.name}: {sum(odd.values()):,} images have labels that the class list {listed}lacks: "
            f"{names_of([*odd])}{did_you_mean(first, known)}; correct the labels or the list, or give a mapping"
        )
