"""A user's own data set with boxes (COCO's JSON) or maps (folders of image files): opening and surveying it."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from unseen.data.core.dataset import Dataset, Target
from unseen.data.core.decoding.decode import Damaged
from unseen.data.core.dense.label_survey import survey_labels
from unseen.data.core.dense.labels import LabelReader
from unseen.data.core.image_files import image_bytes
from unseen.data.core.joined import joined_images
from unseen.data.core.listing import list_folder, present_files
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.rows import IMAGE, SPLIT_WORDS, Row, files_listing
from unseen.data.core.source import ImageSource
from unseen.data.core.tars.archive import is_image
from unseen.data.formats.coco import read_coco
from unseen.data.formats.map_files import ClassMaps, PictureMaps, check_class_count
from unseen.data.own.contents import Track, contents_hash, digests, shared_images, untracked
from unseen.data.own.description import Description
from unseen.data.own.own_data import Task
from unseen.data.own.survey import GET, Survey, leaked, missing_problem, without_content
from unseen.errors import UserError, names_of
from unseen.text.words import counted

SHOWN = 3
"""Reasons in a sentence."""
TARGETS: dict[Task, Target] = {"segmentation": "map", "detection": "boxes", "normals": "normals", "depth": "depth"}
SIDES = ("train", "test")


@dataclass(frozen=True)
class _Files:
    """The files of all images, in order.

    Attributes:
        images: split → paths below its folder of images.
        missing: image files, and map files, that are missing or empty.
        expected: number of all such files, missing ones included.
        labels: label files that exist.
        reader: reads the labels of the images.
        unmatched: split → annotations, or map files, that belong to no image.
    """

    classes: tuple[str, ...]
    images: Mapping[str, Sequence[str]]
    missing: Sequence[str]
    expected: int
    labels: Sequence[Path]
    reader: LabelReader
    unmatched: Mapping[str, Sequence[str]]

    @property
    def labels_hash(self) -> str:
        """SHA-256 over the class names and the bytes of all label files, in order."""
        digest = hashlib.sha256("\n".join(self.classes).encode())
        for path in self.labels:
            digest.update(hashlib.sha256(image_bytes(path)).digest())
        return digest.hexdigest()


def survey_dense(description: Description, track: Track = untracked) -> Survey:
    """Check a data set: its lists and folders, and the bytes of all its images; labels are read later."""
    files = _boxes(description) if description.table.task == "detection" else _maps(description)
    what = "image files" if description.table.task == "detection" else "image and map files"
    problems = missing_problem(files.missing, files.expected, what)
    empty = [SPLIT_WORDS[split] for split in SIDES if not files.images[split]]
    if empty:
        problems.append(f"no {' and no '.join(empty)} images")
        return Survey(description, None, dict.fromkeys(files.images, 0), {}, files.missing, (), problems)
    parts = {split: _source(description, split, names) for split, names in files.images.items()}
    source = joined_images(parts)
    splits = [split for split, names in files.images.items() for _ in names]
    hashes = digests(source, range(len(splits)), track)
    lost, sentences = without_content(source, range(len(splits)), hashes)
    problems = sentences + problems
    repeated = shared_images(hashes, [entry.id for entry in source.entries], splits, "train", "test")
    problems += leaked(description, [repeated])
    opened = None
    if not problems:
        manifest, table = Manifest(source.entries, splits, contents=contents_hash(hashes)), description.table
        dataset = Dataset(
            name=table.name,
            title=description.title,
            target=TARGETS[table.task],
            classes=len(files.classes),
            names=files.classes,
            counts=Counter(splits),
            get=GET,
            licence=table.licence,
            citation=table.citation,
            content=hashlib.sha256(f"{manifest.content_hash} {files.labels_hash}".encode()).hexdigest(),
            shared=len(repeated.pairs),
        )
        opened = OpenDataset(dataset, source, manifest, files.reader, unmatched=files.unmatched)
    shared = [repeated] if repeated.pairs else []
    return Survey(description, opened, Counter(splits), {}, [*files.missing, *lost], shared, problems)


def _boxes(description: Description) -> _Files:
    tables = description.splits
    files = {split: description.path(table.annotations or "") for split, table in tables.items()}
    annotations = read_coco(files)
    named = description.classes()
    if named and {*named} != {*annotations.classes}:
        odd = min({*named} ^ {*annotations.classes})
        raise UserError(f"{description.place}, classes: {odd} is not in both the list and the annotations")
    kept, missing = dict[str, list[str]](), list[str]()
    for split, table in tables.items():
        folder = description.path(table.images)
        names = [name for name, part in annotations.images if part == split]
        listing = files_listing(folder, [Row(name, IMAGE, split) for name in names])
        missing += [str(folder / name) for name in listing.missing]
        kept[split] = [row.id for row in listing.rows]
    return _Files(
        annotations.classes, kept, missing, len(annotations.images), list(files.values()), annotations,
        annotations.unmatched,
    )  # fmt: skip


def _maps(description: Description) -> _Files:
    target, classes = TARGETS[description.table.task], description.classes()
    if target == "map":
        check_class_count(classes, str(description.place))
    if bool(classes) != (target == "map"):
        fault = "the key 'classes' is missing" if target == "map" else "this task has no classes"
        raise UserError(f"{description.place}: {fault}")
    kept, missing, maps, expected = dict[str, list[str]](), list[str](), list[Path](), 0
    unmatched = dict[str, list[str]]()
    for split, table in description.splits.items():
        folder, labels = description.path(table.images), description.path(table.annotations or "")
        for each in (folder, labels):
            if not each.is_dir():
                raise UserError(f"{description.place}, [{split}]: {each}: no such folder")
        names = [entry.name for entry in list_folder(folder) if is_image(entry.name) and entry.is_file()]
        twice = next((map_ for map_, count in Counter(map(_map_name, names)).items() if count > 1), None)
        if twice:
            same = " and ".join(name for name in names if _map_name(name) == twice)
            raise UserError(f"{description.place}, [{split}]: {same} would have the same map, {twice}; rename one")
        expected += 2 * len(names)
        images = present_files(folder, names)
        present = present_files(labels, map(_map_name, names))
        kept[split] = [name for name in names if name in images and _map_name(name) in present]
        missing += [str(folder / name) for name in names if name not in images]
        missing += [str(labels / _map_name(name)) for name in names if _map_name(name) not in present]
        maps += [(labels / _map_name(name)).absolute() for name in kept[split]]
        wanted = {*map(_map_name, names)}
        unmatched[split] = [
            str(labels / entry.name)
            for entry in list_folder(labels)
            if is_image(entry.name) and entry.is_file() and entry.name not in wanted
        ]
    files = tuple(map(str, maps))
    if target == "map":
        return _Files(classes, kept, missing, expected, maps, ClassMaps(Path(), files), unmatched)
    reader = PictureMaps(Path(), files, "depth" if target == "depth" else "normals")
    return _Files((), kept, missing, expected, maps, reader, unmatched)


def _map_name(image: str) -> str:
    return str(PurePosixPath(image).with_suffix(".png"))


def _source(description: Description, split: str, names: Sequence[str]) -> ImageSource:
    folder = description.path(description.splits[split].images)
    return files_listing(folder, [Row(name, IMAGE, split) for name in names]).open()


def unusable_labels(opened: OpenDataset) -> list[str]:
    """Sentences on labels that cannot be used and are left out, or whose images are."""
    survey, sentences = survey_labels(opened), list[str]()
    for split in SIDES:
        word = SPLIT_WORDS[split]
        if damaged := survey.damaged.get(split):
            images = counted(len(damaged), f"{word} image")
            sentences.append(f"{images} with damaged labels: {_first(damaged)}")
        if labels := survey.left_out.get(split):
            boxes = f"{len(labels):,} box{'' if len(labels) == 1 else 'es'} of {word} images"
            what = boxes if opened.dataset.target == "boxes" else counted(len(labels), f"{word} map")
            sentences.append(f"{what} left out: {_first(labels)}")
        if lost := opened.unmatched.get(split):
            what = "annotation" if opened.dataset.target == "boxes" else "map"
            sentences.append(f"{counted(len(lost), f'{word} {what}')} without an image: {names_of(lost)}")
    if untrained := survey.untrained(opened.classes):
        sentences.append(f"no training image shows {names_of(untrained)}, which test images show")
    return sentences


def _first(damaged: Sequence[Damaged]) -> str:
    """The first reasons, and the number of the others."""
    more = f"; and {len(damaged) - SHOWN:,} more" if len(damaged) > SHOWN else ""
    return "; ".join(each.reason for each in damaged[:SHOWN]) + more


def label_counts(opened: OpenDataset) -> dict[str, dict[str, int]]:
    """Split → class → number of boxes, or of maps that show the class; damaged labels are not counted."""
    classes, shown = opened.classes, survey_labels(opened).shown
    none = np.zeros(len(classes), dtype=np.int64)
    return {split: dict(zip(classes, shown.get(split, none).tolist(), strict=True)) for split in SIDES if classes}
