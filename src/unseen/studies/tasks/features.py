"""Features of the data sets of the task study: extracting them, finding them, and their sizes for planning.

The folder has one folder per data set, with one store per split as written by `unseen tasks`, of one backbone or
several; or with the user's own features: `train`, `val` and `test` (or `all`), as a store or as a file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from unseen.backbones.backbone import Backbone
from unseen.errors import ImageError, UserError, did_you_mean
from unseen.features.progress import Progress
from unseen.features.readers import SUFFIXES
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.images.dataset import Dataset
from unseen.images.open_dataset import OpenDataset
from unseen.images.registry import DATASETS, task_sets
from unseen.images.rows import ALL, SPLITS
from unseen.papers.comparability import Draw
from unseen.probes.samples import SamplesPerClass
from unseen.runs.data import Study
from unseen.runs.extraction import Pass, extract_passes
from unseen.runs.flaws import Flaw
from unseen.runs.means import ALONE, Means
from unseen.runs.notices import Notice, left_out
from unseen.runs.parts import WHOLE
from unseen.studies.concepts.features import OWN, Place
from unseen.studies.features import read_about
from unseen.studies.tasks.kinds import kind_of

STUDY: Study = "tasks"


@dataclass(frozen=True)
class TaskFeatures:
    """The features of a backbone on a data set, existing or still to be extracted.

    Attributes:
        hashes, places: hashes and paths by split; empty if the features are still to be extracted.
        rows: number of images by split.
        classes: number of classes; 0 if labels are not classes.
        fewest: number of images of the smallest class, all splits together.
        dimension: dimension of a feature vector; an image has `vectors` of them: one, or one per patch.
        keys: key of the extraction settings by split; empty if the features are still to be extracted.
        size: side of the input images of the backbone, in pixels; None if the features do not record it.
        draw: who chose the images; unknown if the features do not record it.
        limit: largest number of images per class and split, if only a part was used for a quick look.
        flaws: damaged images that the extraction skipped.
        samples: images per class of training and validation data together; None if labels are not classes.
    """

    backbone: str
    dataset: Dataset
    hashes: Mapping[str, str]
    places: Mapping[str, str]
    rows: Mapping[str, int]
    classes: int
    fewest: int
    dimension: int
    keys: Mapping[str, str] = field(default_factory=dict)
    size: int | None = None
    draw: Draw = "given"
    limit: int | None = None
    flaws: tuple[Flaw, ...] = ()
    vectors: int = 1
    samples: SamplesPerClass | None = None


class Found(NamedTuple):
    """Usable features, and a notice about each data set with unusable ones.

    `unfinished` are stores with shards that other parts of a job array have not extracted yet.
    """

    features: list[TaskFeatures]
    faults: list[Notice]
    unfinished: Sequence[Path] = ()


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
    settings = kind_of(dataset).settings(settings)
    splits, place = splits_of(dataset), folder / dataset.name
    passes = [
        Pass(opened.source, opened.manifest, split, place, partial(watch, dataset.name, split)) for split in splits
    ]
    try:
        stores = dict(zip(splits, extract_passes(means, passes, backbones, settings), strict=True))
    except ImageError as error:
        return Found([], [left_out(dataset.name, f"{dataset.name}: {error}")])
    made = [place for places in stores.values() for place in places]
    if settings.part != WHOLE and not all((place / MANIFEST).is_file() for place in made):
        return Found([], [], made)
    return _usable(
        (backbone.label, dataset, {split: found[number] for split, found in stores.items()})
        for number, backbone in enumerate(backbones)
    )


def _usable(places: Iterable[tuple[str, Dataset, Mapping[str, Path]]]) -> Found:
    found, faults = [], []
    for backbone, dataset, at in places:
        try:
            found.append(kind_of(dataset).describe(backbone, dataset, at))
        except UserError as error:
            faults.append(left_out(dataset.name, str(error)))
    return Found(found, faults)


def features_in(folder: Path, dataset: Dataset, backbones: Sequence[str]) -> list[TaskFeatures]:
    """The features of a data set for all given backbones, in order; empty if some are missing or invalid."""
    try:
        places = _in_folder(folder, dataset, backbones)
        return [kind_of(dataset).describe(name, dataset, places[name]) for name in backbones]
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
    features: list[TaskFeatures] = []
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
    return Found(features, faults)


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
