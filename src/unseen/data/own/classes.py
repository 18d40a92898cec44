"""Checking a user's own data set with classes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from unseen.data.core.dataset import Dataset, Validation
from unseen.data.core.joined import joined_images
from unseen.data.core.manifest import Manifest
from unseen.data.core.multi_label import class_names, shown_classes
from unseen.data.core.open_dataset import SPLIT_SEED, OpenDataset, check_classes
from unseen.data.core.rows import ALL, SPLIT_WORDS, SPLITS, Row
from unseen.data.core.source import ImageSource
from unseen.data.core.split_rules import split_rows
from unseen.data.own.contents import SharedImages, Track, contents_hash, digests, shared_images, untracked
from unseen.data.own.description import Description
from unseen.data.own.split_images import all_classes, labels_of, missing_files, naming, open_split
from unseen.data.own.survey import GET, Survey, leaked, missing_problem, without_content
from unseen.errors import UserError, did_you_mean, names_of
from unseen.text.words import counted

ROOT_ADVICE = "; check the folder that their paths are relative to (root)"


def survey_classes(description: Description, *, seed: int = 0, track: Track = untracked) -> Survey:
    """Check a classification data set: its lists and folders, and the bytes of all its images.

    Args:
        seed: seed of a drawn validation split.
        track: shows progress in images read.
    """
    parts = {split: open_split(description, split, table) for split, table in description.splits.items()}
    return survey_parts(description, parts, seed=seed, track=track)


def survey_parts(
    description: Description, parts: Mapping[str, ImageSource], *, seed: int = 0, track: Track = untracked
) -> Survey:
    """The same for splits whose images are open."""
    named, several = description.classes(), description.several
    labels = labels_of(parts.values())
    source = joined_images(parts, naming(named, labels))
    rows = [Row(entry.id, entry.label, entry.id.partition("/")[0]) for entry in source.entries]
    classes = named or all_classes(parts, labels, several=several)
    missing = {f"{split}/{id_}": path for split, part in parts.items() for id_, path in missing_files(part).items()}
    problems = missing_problem([*missing.values()], len(rows), advice=ROOT_ADVICE)
    problems += _unknown_labels(rows, classes, several=several)
    if not problems:
        problems += _empty_classes(rows, classes, description, several=several)
    if not problems:
        try:
            rows = _split(rows, description, seed)
        except UserError as error:
            problems.append(str(error).removeprefix(f"{description.table.name}: "))
    there = [number for number, row in enumerate(rows) if row.id not in missing]
    hashes = digests(source, there, track)
    empty, sentences = without_content(source, there, hashes)
    problems = sentences + problems
    shared = _shared(hashes, rows, description.validation)
    splits = [row.part for row in rows]
    problems += leaked(description, shared)
    counts = _counts(rows, classes, several=several)
    dataset = _dataset(description, len(classes), splits)
    opened = None
    if not problems:
        source.about[SPLIT_SEED] = str(seed) if dataset.validation == "fifth" else "none, as the splits are given"
        manifest = Manifest(source.entries, splits, contents=contents_hash(hashes))
        tested = {id_ for each in shared if each.second == "test" for _, id_ in each.pairs}
        dataset = replace(dataset, content=manifest.content_hash, shared=len(tested))
        opened = OpenDataset(dataset, source, manifest)
    return Survey(description, opened, dataset.counts, counts, [*missing.values(), *empty], shared, problems)


def _unknown_labels(rows: Sequence[Row], classes: Sequence[str], *, several: bool) -> list[str]:
    known = {*classes}
    unknown: Counter[str] = Counter()
    for row in rows:
        unknown.update({*class_names([row.label])} - known if several else {row.label} - known)
    if not unknown:
        return []
    words = [f"'{name}' ({count:,}{did_you_mean(name, classes).rstrip('?')})" for name, count in unknown.items()]
    return [f"{counted(sum(unknown.values()), 'label')} outside the list of classes: {names_of(words)}"]


def _empty_classes(
    rows: Sequence[Row], classes: Sequence[str], description: Description, *, several: bool
) -> list[str]:
    """Problems with the classes, checked before a validation split is drawn."""
    if len(classes) < 2:
        return [f"all images are of one class ({', '.join(classes)}); at least two are needed"]
    problems = []
    for split in description.splits:
        shown = {name for row in rows if row.part == split for name in _names(row.label, several=several)}
        empty = [name for name in classes if name not in shown]
        if empty:
            word = f"{SPLIT_WORDS[split]} " if split in SPLIT_WORDS else ""
            problems.append(f"no {word}images of {names_of(empty)}")
    if problems:
        problems[-1] += "; every class needs images in each split: add some, or remove the class from all splits"
    return problems


def _names(label: str, *, several: bool) -> list[str]:
    return shown_classes(label) if several else [label]


def _split(rows: Sequence[Row], description: Description, seed: int) -> list[Row]:
    """The rows in their splits; missing splits are drawn."""
    name = description.table.name
    rows = split_rows(rows, description.test, description.validation, seed, name)
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row.part, set()).add(row.label)
    check_classes(labels, name, "every class needs one", several=description.several)
    return rows


def _shared(hashes: Mapping[int, bytes], rows: Sequence[Row], validation: Validation | None) -> list[SharedImages]:
    """Images that occur in two splits; a drawn validation split counts as training images here."""
    ids = [row.id for row in rows]
    splits = ["train" if (row.part, validation) == ("val", "fifth") else row.part for row in rows]
    pairs = [("train", "val"), ("train", "test"), ("val", "test")]
    shared = [shared_images(hashes, ids, splits, first, second) for first, second in pairs]
    return [each for each in shared if each.pairs]


def _counts(rows: Sequence[Row], classes: Sequence[str], *, several: bool) -> dict[str, dict[str, int]]:
    counts = {split: dict.fromkeys(classes, 0) for split in (*SPLITS, ALL) if any(row.part == split for row in rows)}
    for row in rows:
        for name in _names(row.label, several=several):
            counts[row.part][name] = counts[row.part].get(name, 0) + 1
    return counts


def _dataset(description: Description, classes: int, splits: Sequence[str]) -> Dataset:
    table = description.table
    return Dataset(
        name=table.name,
        title=description.title,
        classes=classes,
        target="classes" if description.several else "class",
        metric=table.metric,
        test=description.test,
        validation=description.validation,
        few_shot=None if description.several else "other",
        counts={split: splits.count(split) for split in (*SPLITS, ALL) if split in splits},
        get=GET,
        licence=table.licence,
        citation=table.citation,
    )
