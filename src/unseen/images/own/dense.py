"""A user's own data set with boxes (COCO's JSON) or maps (folders of pictures): opening it, and what is in it."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from unseen.errors import UserError, names_of
from unseen.images.datasets.listing import Row, files_listing
from unseen.images.dense.coco import read_coco
from unseen.images.dense.dense_dataset import SPLIT_WORDS, DenseDataset, LabelReader, OpenDenseDataset, survey_labels
from unseen.images.dense.labels import IGNORED, Kind, Objects
from unseen.images.dense.map_files import IMAGE, ClassMaps, PictureMaps, check_class_count
from unseen.images.joined import joined_images
from unseen.images.listing import list_folder, present_files
from unseen.images.manifest import Manifest
from unseen.images.own.contents import Track, contents_hash, digests, shared_images, untracked
from unseen.images.own.description import Description, Task
from unseen.images.own.survey import GET, Survey, leaked, not_there
from unseen.images.source import ImageSource
from unseen.images.tars import is_image
from unseen.words import counted

KINDS: dict[Task, Kind] = {"segmentation": "classes", "detection": "boxes", "normals": "normals", "depth": "depth"}


@dataclass(frozen=True)
class _Files:
    """The files of all images, in order.

    Attributes:
        images: split → paths below its folder of images.
        missing: files of images or labels that are not there.
        labels: files of the labels that are there.
        reader: of the labels of the images.
    """

    classes: tuple[str, ...]
    images: Mapping[str, Sequence[str]]
    missing: Sequence[str]
    labels: Sequence[Path]
    reader: LabelReader

    @property
    def labels_hash(self) -> str:
        """SHA-256 over the names of the classes and the bytes of all files of labels, in order."""
        digest = hashlib.sha256("\n".join(self.classes).encode())
        for path in self.labels:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def survey_dense(description: Description, track: Track = untracked) -> Survey[OpenDenseDataset]:
    """Look through a data set: its lists and folders, and the bytes of all its images; labels are read later."""
    files = _boxes(description) if description.table.task == "detection" else _maps(description)
    every = sum(map(len, files.images.values())) + len(files.missing)
    problems = not_there(files.missing, every)
    empty = [word for split, word in SPLIT_WORDS.items() if not files.images[split]]
    if empty:
        problems.append(f"no {' and no '.join(empty)} images")
        return Survey(description, None, dict.fromkeys(files.images, 0), {}, files.missing, (), problems)
    parts = {split: _source(description, split, names) for split, names in files.images.items()}
    source = joined_images(parts)
    splits = [split for split, names in files.images.items() for _ in names]
    hashes = digests(source, range(len(splits)), track)
    found = shared_images(hashes, [entry.id for entry in source.entries], splits, "train", "test")
    problems += leaked(description, [found])
    opened = None
    if not problems:
        manifest, table = Manifest(source.entries, splits, contents=contents_hash(hashes)), description.table
        dataset = DenseDataset(
            name=table.name,
            title=description.title,
            kind=KINDS[table.task],
            classes=files.classes,
            counts=Counter(splits),
            layouts=(),
            get=GET,
            licence=table.licence,
            citation=table.citation,
            content=hashlib.sha256(f"{manifest.content_hash} {files.labels_hash}".encode()).hexdigest(),
            shared=len(found.pairs),
        )
        opened = OpenDenseDataset(dataset, source, manifest, files.reader)
    shared = [found] if found.pairs else []
    return Survey(description, opened, Counter(splits), {}, files.missing, shared, problems)


def open_own_dense(description: Description, track: Track = untracked) -> OpenDenseDataset:
    """A data set with boxes or maps; one that something is wrong with is refused, with all that is."""
    if description.table.task == "classification":
        raise UserError(f"{description.place}: of the task classification; leave out --dense")
    return survey_dense(description, track).checked()


def _boxes(description: Description) -> _Files:
    tables = description.splits
    files = {split: description.path(table.annotations or "") for split, table in tables.items()}
    found = read_coco(files)
    named = description.classes()
    if named and {*named} != {*found.classes}:
        odd = min({*named} ^ {*found.classes})
        raise UserError(f"{description.place}, classes: not the categories of the annotations, as {odd} is in one only")
    kept, missing = dict[str, list[str]](), list[str]()
    for split, table in tables.items():
        folder = description.path(table.images)
        names = [name for name, part in found.images if part == split]
        listing = files_listing(folder, [Row(name, IMAGE, split) for name in names])
        missing += [str(folder / name) for name in listing.missing]
        kept[split] = [row.id for row in listing.rows]
    return _Files(found.classes, kept, missing, list(files.values()), found)


def _maps(description: Description) -> _Files:
    kind, classes = KINDS[description.table.task], description.classes()
    if kind == "classes":
        check_class_count(classes, str(description.place))
    if bool(classes) != (kind == "classes"):
        said = "the key 'classes' is missing" if kind == "classes" else "classes are not of this task"
        raise UserError(f"{description.place}: {said}")
    kept, missing, maps = dict[str, list[str]](), list[str](), list[Path]()
    for split, table in description.splits.items():
        folder, labels = description.path(table.images), description.path(table.annotations or "")
        for each in (folder, labels):
            if not each.is_dir():
                raise UserError(f"{description.place}, [{split}]: {each}: no such folder")
        names = [entry.name for entry in list_folder(folder) if is_image(entry.name) and entry.is_file()]
        images = present_files(folder, names)
        present = present_files(labels, map(_map_name, names))
        kept[split] = [name for name in names if name in images and _map_name(name) in present]
        missing += [str(folder / name) for name in names if name not in images]
        missing += [str(labels / _map_name(name)) for name in names if _map_name(name) not in present]
        maps += [(labels / _map_name(name)).absolute() for name in kept[split]]
    files = tuple(map(str, maps))
    if kind == "classes":
        return _Files(classes, kept, missing, maps, ClassMaps(Path(), files))
    return _Files((), kept, missing, maps, PictureMaps(Path(), files, "depth" if kind == "depth" else "normals"))


def _map_name(image: str) -> str:
    return str(PurePosixPath(image).with_suffix(".png"))


def _source(description: Description, split: str, names: Sequence[str]) -> ImageSource:
    folder = description.path(description.splits[split].images)
    return files_listing(folder, [Row(name, IMAGE, split) for name in names]).open()


def damaged_labels(opened: OpenDenseDataset) -> list[str]:
    """Sentences on labels that cannot be used; their images are left out."""
    found = []
    for split, damaged in survey_labels(opened).damaged.items():
        images = counted(len(damaged), f"{SPLIT_WORDS[split]} image")
        found.append(f"{images} with damaged labels: {names_of([each.reason for each in damaged])}")
    return found


def label_counts(opened: OpenDenseDataset) -> dict[str, dict[str, int]]:
    """Split → class → boxes, or maps that show it; damaged labels count for nothing."""
    classes = opened.dataset.classes
    counts = {split: dict.fromkeys(classes, 0) for split in SPLIT_WORDS} if classes else {}
    damaged = {each.id for of in survey_labels(opened).damaged.values() for each in of}
    for number, split in enumerate(opened.manifest.splits) if classes else ():
        if opened.manifest.entries[number].id in damaged:
            continue
        labels = opened.labels(number)
        shown = labels.classes if isinstance(labels, Objects) else np.setdiff1d(labels, [IGNORED])
        for place in shown.tolist():
            counts[split][classes[int(place)]] += 1
    return counts
