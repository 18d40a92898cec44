"""Classification: linear probes and few-shot episodes on one feature vector per image."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from unseen.backbones.backbone import Spec
from unseen.errors import UserError
from unseen.features.by_hash import align_splits, split_labels
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.features.store import read_store
from unseen.images.dataset import Dataset
from unseen.images.multi_label import class_names, shown_classes
from unseen.images.open_dataset import OpenDataset, check_classes
from unseen.images.rows import SPLIT_WORDS
from unseen.papers.transfer import SOURCE
from unseen.probes.by_name.centroids import QUERIES, WAYS, FewShotJob
from unseen.probes.by_name.linear import ManyShotJob
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.samples import SamplesPerClass
from unseen.runs.comparability_words import listed
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.notices import Notice, notice
from unseen.runs.task_work import TaskJob
from unseen.studies.tasks.comparisons import dataset_title, scored_data
from unseen.studies.tasks.features import STUDY, TaskFeatures, splits_of
from unseen.studies.tasks.kind import TaskKind
from unseen.studies.tasks.page_data import SHOTS

FITTED = ("train", "val")
"""Splits that a user's own probe is fitted to."""
FIT_PRODUCT = (16_384, 1024)
"""Samples and dimensions of the timed product, which exceeds the processor's caches, as in most fits."""


def task_jobs(task: TaskFeatures, protocol: ManyShotProtocol) -> list[TaskJob]:
    """A linear probe, if the data set has splits, and episodes for each of `SHOTS`."""
    jobs: list[TaskJob] = []
    shared = (task.backbone, task.dataset.name)
    if task.dataset.test is not None:
        train, val, test = (task.hashes.get(split, "") for split in splits_of(task.dataset))
        jobs.append(ManyShotJob(STUDY, protocol, *shared, train, val, test, task.dataset.metric))
    features = tuple(task.hashes.values())
    return jobs + [FewShotJob(STUDY, protocol.name, *shared, features, shots) for shots in possible_shots(task)]


def possible_shots(task: TaskFeatures) -> tuple[int, ...]:
    """The numbers of shots for which every class has enough images, in addition to the query images."""
    if task.dataset.few_shot is None or task.classes < WAYS:
        return ()
    return tuple(shots for shots in SHOTS if task.fewest >= shots + QUERIES)


def skipped_episodes(task: TaskFeatures) -> list[Notice]:
    """A notice about the numbers of shots for which a data set has too few images or classes."""
    short = [shots for shots in SHOTS if shots not in possible_shots(task)]
    if not short or task.dataset.few_shot is None:
        return []
    settings = listed([f"{shots}-shot" for shots in short])
    reason = (
        f"{task.classes} classes, but episodes need {WAYS}"
        if task.classes < WAYS
        else f"a class with {task.fewest} images, but {short[0] + QUERIES} are needed"
    )
    title = dataset_title(scored_data(task, SOURCE), task.dataset)
    return [notice("no-episodes", task.dataset.name, title=title, settings=settings, reason=reason)]


def expected_features(opened: OpenDataset, spec: Spec, label: str) -> TaskFeatures:
    """Features that are still to be extracted."""
    counts = _images_of_classes(Counter(entry.label for entry in opened.manifest.entries), opened.dataset)
    rows = Counter(opened.manifest.splits)
    both = zip(opened.manifest.entries, opened.manifest.splits, strict=True)
    fitted = [entry.label for entry, split in both if split in FITTED]
    return TaskFeatures(
        backbone=label,
        dataset=opened.dataset,
        hashes={},
        places={},
        rows={split: rows[split] for split in splits_of(opened.dataset)},
        classes=len(counts),
        fewest=min(counts.values()),
        dimension=spec.dimension,
        limit=opened.manifest.limit,
        samples=SamplesPerClass.of(Counter(fitted).values()),
    )


def _images_of_classes(labels: Mapping[str, int], dataset: Dataset) -> dict[str, int]:
    """Class → number of its images, from the number of images per label."""
    if not dataset.multi_label:
        return dict(labels)
    counts = dict.fromkeys(class_names(labels), 0)
    for label, images in labels.items():
        for name in shown_classes(label):
            counts[name] += images
    return counts


def features_at(backbone: str, dataset: Dataset, places: Mapping[str, Path]) -> TaskFeatures:
    """Describe existing features for planning; unusable features are refused."""
    try:
        # The bytes of a store are not verified here, since the probes do that.
        parts = {split: read_store(path) if path.is_dir() else read_features(path) for split, path in places.items()}
        aligned = align_splits(list(parts.values()), " and ".join(map(str, places.values())))
        labels = split_labels(dict(zip(parts, aligned, strict=True)))
        check_classes(labels, f"features by {backbone}", "every class needs one", several=dataset.multi_label)
    except UserError as error:
        raise UserError(f"{dataset.name}: {error}") from None
    rows = np.bincount(np.concatenate([part.y for part in aligned]), minlength=len(aligned[0].classes))
    counts = _images_of_classes(dict(zip(aligned[0].classes, rows.tolist(), strict=True)), dataset)
    fitted = [part.y for split, part in zip(parts, aligned, strict=True) if split in FITTED]
    return TaskFeatures(
        backbone=backbone,
        dataset=dataset,
        hashes={split: str(part.provenance["content_hash"]) for split, part in parts.items()},
        places={split: str(path) for split, path in places.items()},
        rows={split: len(part) for split, part in parts.items()},
        classes=len(counts),
        fewest=min(counts.values()),
        dimension=aligned[0].dimension,
        keys={split: _key(part) for split, part in parts.items()},
        size=_size(aligned[0]),
        draw="given" if all(isinstance(part.provenance.get("source"), dict) for part in parts.values()) else "unknown",
        limit=next((limit for part in parts.values() if (limit := part.provenance.get("limit"))), None),
        flaws=tuple(flaw for split, part in parts.items() for flaw in _left_out(backbone, dataset, split, part)),
        samples=SamplesPerClass.of(np.bincount(np.concatenate(fitted)).tolist()) if fitted else None,
    )


def _left_out(backbone: str, dataset: Dataset, split: str, features: Features) -> Iterator[Flaw]:
    """The damaged images that the extraction of features skipped."""
    damaged = features.provenance.get("damaged", ())
    if damaged:
        examples = tuple(f"{image['id']}: {image['reason']}" for image in damaged[:MOST_EXAMPLES])
        place = f"{SPLIT_WORDS[split]} images" if split in SPLIT_WORDS else "images"
        total = len(features) + len(damaged)
        yield Flaw("damaged-images", backbone, dataset.name, place, len(damaged), total, examples)


def _key(features: Features) -> str:
    """The key of the extraction settings, since features of two machines may differ in their last bits."""
    return str(features.provenance.get("key", features.provenance["content_hash"]))[:16]


def _size(features: Features) -> int | None:
    spec = features.provenance.get("backbone")
    return int(spec["transform"]["size"]) if isinstance(spec, dict) and "transform" in spec else None


def _flops(job: TaskJob, task: TaskFeatures) -> float:
    return job.flops(task.rows, task.dimension, task.classes)


def _product(task: TaskFeatures) -> tuple[int, int, int]:
    return (task.classes, *FIT_PRODUCT)  # the product of a gradient; with few classes it is limited by memory


KIND = TaskKind(
    settings=lambda asked: asked,
    expect=expected_features,
    describe=features_at,
    jobs=task_jobs,
    skipped=skipped_episodes,
    flops=_flops,
    product=_product,
)
