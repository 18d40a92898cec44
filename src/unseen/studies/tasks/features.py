"""Features of the data sets of the task study: extracting them, finding them, and their sizes for planning.

The folder has one folder per data set, with one store per split as written by `unseen tasks`, of one backbone or
several; or with the user's own features: `train`, `val` and `test` (or `all`), as a store or as a file.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import ImageError, UserError, did_you_mean
from unseen.features.by_hash import align_splits, split_labels
from unseen.features.progress import Progress
from unseen.features.readers import SUFFIXES, read_features
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST, read_store
from unseen.images.dataset import Dataset
from unseen.images.open_dataset import OpenDataset, check_classes
from unseen.images.registry import DATASETS, task_sets
from unseen.images.rows import ALL, SPLITS
from unseen.probes.samples import SamplesPerClass
from unseen.runs.data import Study
from unseen.runs.extraction import Pass, extract_passes
from unseen.runs.means import ALONE, Means
from unseen.runs.notices import Notice, left_out
from unseen.runs.parts import WHOLE
from unseen.studies.concepts.features import OWN, Place
from unseen.studies.features import read_about
from unseen.studies.probed_features import ProbedFeatures, class_counts, probed_features

STUDY: Study = "tasks"


class Found(NamedTuple):
    """Usable features, their data sets, and a notice about each data set with unusable features.

    `unfinished` are stores with shards that other parts of a job array have not extracted yet.
    """

    features: list[ProbedFeatures]
    faults: list[Notice]
    datasets: Mapping[str, Dataset]
    unfinished: Sequence[Path] = ()


def features_at(backbone: str, dataset: Dataset, places: Mapping[str, Path]) -> ProbedFeatures:
    """Describe existing features for planning; unusable features are refused.

    Classes are in the order of their names.
    """
    try:
        # The bytes of a store are not verified here, since the probes do that.
        parts = {split: read_store(path) if path.is_dir() else read_features(path) for split, path in places.items()}
        aligned = align_splits(list(parts.values()), " and ".join(map(str, places.values())))
        ordered = dict(zip(parts, aligned, strict=True))
        where = f"features by {backbone}"
        check_classes(split_labels(ordered), where, "every class needs one", several=dataset.multi_label)
    except UserError as error:
        raise UserError(f"{dataset.name}: {error}") from None
    return probed_features(
        backbone, dataset.name, ordered, places, order="sorted", several=dataset.multi_label, metric=dataset.metric
    )


def expected_features(opened: OpenDataset, spec: Spec, label: str) -> ProbedFeatures:
    """Features that are still to be extracted."""
    dataset, manifest = opened.dataset, opened.manifest
    names = sorted({entry.label for entry in manifest.entries})
    place = {name: number for number, name in enumerate(names)}
    labels: dict[str, list[int]] = {split: [] for split in splits_of(dataset)}
    for entry, split in zip(manifest.entries, manifest.splits, strict=True):
        labels[split].append(place[entry.label])
    counts = class_counts(labels, names, several=dataset.multi_label)
    fitted = Counter(number for split in ("train", "val") for number in labels.get(split, ()))
    return ProbedFeatures(
        label,
        dataset.name,
        {split: len(of) for split, of in labels.items()},
        len(counts.train),
        spec.dimension,
        samples=SamplesPerClass.of(fitted.values()),
        counts=counts,
        target="classes" if dataset.multi_label else "class",
        metric=dataset.metric,
        order="sorted",
        limit=manifest.limit,
    )


def splits_of(dataset: Dataset) -> tuple[str, ...]:
    """The splits of a data set, in order."""
    return SPLITS if dataset.test is not None else (ALL,)


def extract_dataset(
    opened: OpenDataset,
    backbones: Sequence[Backbone],
    folder: Path,
    settings: Settings,
    watch: Callable[[str, str], Callable[[Progress], None]],
    means: Means = ALONE,
) -> Found:
    """Extract the missing features of a data set, with one pass over its images for all backbones.

    Images that cannot be used affect only this data set.

    Args:
        folder: folder of the features of all data sets.
        watch: returns the progress callback of a data set and split.
        means: the hardware to extract on.
    """
    dataset = opened.dataset
    splits, place = splits_of(dataset), folder / dataset.name
    passes = [
        Pass(opened.source, opened.manifest, split, place, partial(watch, dataset.name, split)) for split in splits
    ]
    try:
        stores = dict(zip(splits, extract_passes(means, passes, backbones, settings), strict=True))
    except ImageError as error:
        return Found([], [left_out(dataset.name, f"{dataset.name}: {error}")], {})
    made = [place for places in stores.values() for place in places]
    if settings.part != WHOLE and not all((place / MANIFEST).is_file() for place in made):
        return Found([], [], {}, made)
    return _usable(
        (backbone.label, dataset, {split: found[number] for split, found in stores.items()})
        for number, backbone in enumerate(backbones)
    )


def _usable(places: Iterable[tuple[str, Dataset, Mapping[str, Path]]]) -> Found:
    found, faults, datasets = [], [], dict[str, Dataset]()
    for backbone, dataset, at in places:
        datasets[dataset.name] = dataset
        try:
            found.append(features_at(backbone, dataset, at))
        except UserError as error:
            faults.append(left_out(dataset.name, str(error)))
    return Found(found, faults, datasets)


def features_in(folder: Path, dataset: Dataset, backbones: Sequence[str]) -> list[ProbedFeatures]:
    """The features of a data set for all given backbones, in order; empty if some are missing or invalid."""
    try:
        places = _in_folder(folder, dataset, backbones)
        return [features_at(name, dataset, places[name]) for name in backbones]
    except UserError:
        return []  # extraction or probing will report the error


def find_task_features(folder: Path, names: Sequence[str | OpenDataset], backbones: Sequence[str]) -> Found:
    """Features of data sets in a folder; it is an error if none of them can be used.

    Args:
        names: names of data sets; empty for all that exist.
        backbones: ids to use; empty for all. For features without a description, the name of the backbone.
    """
    own = next((each.dataset.name for each in names if isinstance(each, OpenDataset)), None)
    if own is not None:
        raise UserError(
            f"{own}: features are found by the name of a data set; for your own data, give the images and the folder "
            "of the run"
        )
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; it should contain one folder of features per data set")
    there = [name for name in task_sets() if (folder / name).is_dir()]
    features: list[ProbedFeatures] = []
    faults: list[Notice] = []
    for name in map(str, names or there):
        try:
            if name not in there:
                hint = did_you_mean(name, there) or f"; it has {', '.join(there) or 'none'}"
                raise UserError(f"no features of this data set in {folder}{hint}")
            places = _in_folder(folder / name, DATASETS[name], backbones)
        except UserError as error:
            faults.append(left_out(name, f"{name}: {error}"))
            continue
        found = _usable((backbone, DATASETS[name], at) for backbone, at in places.items())
        features += found.features
        faults += found.faults
    if not features and faults:
        more = f" (and {len(faults) - 1} more that cannot be used)" if len(faults) > 1 else ""
        raise UserError(f"{faults[0].text}{more}")
    if not features:
        raise UserError(
            f"{folder}: no features of any data set; each has a folder of its name ({', '.join(task_sets())})"
        )
    return Found(features, faults, {each.dataset: DATASETS[each.dataset] for each in features})


def _in_folder(folder: Path, dataset: Dataset, backbones: Sequence[str]) -> dict[str, dict[str, Path]]:
    """Backbone → split → path of its features."""
    splits = splits_of(dataset)
    own = {split: place for split in splits if (place := _own(folder, split))}
    if len(own) == len(splits):
        if len(backbones) > 1:
            raise UserError(f"{folder}: features of one backbone, but {' and '.join(backbones)} are requested")
        return {next(iter(backbones), OWN): own}
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    stores = [entry for entry in entries if (entry / MANIFEST).is_file()]
    found: dict[str, dict[str, Path]] = {}
    for store in stores:
        made = Place(store, read_about(store))
        name, split = made.backbone, made.split
        if name is None or split not in splits or (backbones and name not in backbones):
            continue
        if split in found.setdefault(name, {}):
            raise UserError(f"{folder}: {split} features of {name} with several settings; keep only one of them")
        found[name][split] = store
    if own and not found:
        absent = " and ".join(split for split in splits if split not in own)
        raise UserError(f"{folder}: features of {', '.join(own)}, but no {absent}; each split needs its own")
    for name in [*found, *(name for name in backbones if name not in found)]:
        lacking = next((split for split in splits if split not in found.get(name, {})), None)
        if lacking:
            raise UserError(f"{folder}: no {lacking} features of {name}; extract them, or leave the data set out")
    return {name: {split: places[split] for split in splits} for name, places in found.items()}


def _own(folder: Path, split: str) -> Path | None:
    """The user's own features, named like a split."""
    candidates = (folder / split, *(folder / f"{split}{suffix}" for suffix in SUFFIXES))
    return next((place for place in candidates if place.exists()), None)
