"""The jobs of the task study on vectors, and estimates of the time and disk space of its features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import UserError, did_you_mean
from unseen.features.disk import feature_bytes, remaining_rows
from unseen.features.settings import Settings
from unseen.features.speed import extraction_seconds, seconds_per_image
from unseen.images.dataset import Dataset
from unseen.images.open_dataset import OpenDataset
from unseen.papers.transfer import SOURCE
from unseen.probes.by_name import all_probes, feature_probes
from unseen.probes.by_name.centroids import QUERIES, WAYS, Centroids
from unseen.probes.by_name.linear import Linear
from unseen.probes.job import Job
from unseen.probes.many_shot import ERICSSON_2021, ManyShotProtocol
from unseen.probes.probe import Probe
from unseen.runs.comparability_words import listed
from unseen.runs.notices import Notice, notice
from unseen.runs.own_metric import metric_jobs
from unseen.runs.parts import WHOLE
from unseen.runs.shots import shot_notices
from unseen.studies.own_code import NO_CODE, AskedProbe, OwnCode, chosen_code
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.tasks.comparisons import dataset_title
from unseen.studies.tasks.features import expected_features, features_in, splits_of
from unseen.studies.tasks.page_data import SHOTS

SEEDS = (0,)
"""The seeds of a task study: its splits are fixed, and episodes are averaged over their own draws."""


@dataclass(frozen=True)
class TaskProbes:
    """The probes of a task study.

    Attributes:
        protocol: of the linear probe.
        more: further probes by name, with their defaults.
        own: probes and metrics of the user's own.
    """

    protocol: ManyShotProtocol = ERICSSON_2021
    more: Sequence[Probe] = ()
    own: OwnCode = NO_CODE

    def jobs(self, features: Sequence[ProbedFeatures], datasets: Mapping[str, Dataset]) -> list[Job]:
        """All jobs: each probe on the data sets whose labels and splits it takes."""
        linear, episodes = Linear(protocol=self.protocol), Centroids()
        jobs = list[Job]()
        for each in features:
            if each.takes(linear):
                jobs += linear.jobs(each, SEEDS)
            jobs += episodes.jobs(each, SEEDS, possible_shots(each, datasets[each.dataset]))
            for probe in self.more:
                jobs += probe.jobs(each, SEEDS) if each.takes(probe) else ()
            for own in self.own.probes:
                jobs += own.jobs(each, SEEDS) if each.takes(own.probe) else ()
        return [*jobs, *metric_jobs(self.own.metrics, [job for job in jobs if job.probe != Centroids.name])]

    def skipped(self, features: Sequence[ProbedFeatures], datasets: Mapping[str, Dataset]) -> list[Notice]:
        """Notices about settings for which a data set is too small, once for all backbones."""
        by_name = {each.dataset: each for each in features}
        short = [text for name, each in by_name.items() for text in skipped_episodes(each, datasets[name])]
        probes = [*self.more, *(own.probe for own in self.own.probes)]
        return short + [
            text
            for name, each in by_name.items()
            for probe in probes
            if each.samples and each.takes(probe)
            for text in shot_notices(probe.default_shots, each.samples.total_shortage, name)
        ]


def task_probes(
    protocol: ManyShotProtocol,
    probes: "AskedProbe | Sequence[AskedProbe]",
    metrics: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    tell: Callable[[str], None],
) -> TaskProbes:
    """The linear probe and episodes, further probes of feature vectors by name, and the user's own code.

    Args:
        probes: names, Python files or probe objects.
        metrics, tell: as in `chosen_code`.
    """
    names, own = chosen_code(probes, metrics, tell)
    usual, known = {Linear.name, Centroids.name}, feature_probes()
    for name in names:
        if name not in known:
            other = name in all_probes()
            hint = did_you_mean(name, known) or f"; choose from {', '.join(known)}"
            raise UserError(f"the probe {name} is not for feature vectors" if other else f"no probe '{name}'{hint}")
    return TaskProbes(protocol, [known[name]() for name in dict.fromkeys(names) if name not in usual], own)


def possible_shots(features: ProbedFeatures, dataset: Dataset) -> tuple[int, ...]:
    """The numbers of shots for which every class has enough images, in addition to the query images."""
    if dataset.few_shot is None or features.classes < WAYS or features.counts is None:
        return ()
    fewest = min(features.counts.together)
    return tuple(shots for shots in SHOTS if fewest >= shots + QUERIES)


def skipped_episodes(features: ProbedFeatures, dataset: Dataset) -> list[Notice]:
    """A notice about the numbers of shots for which a data set has too few images or classes."""
    short = [shots for shots in SHOTS if shots not in possible_shots(features, dataset)]
    if not short or dataset.few_shot is None or features.counts is None:
        return []
    settings = listed([f"{shots}-shot" for shots in short])
    reason = (
        f"{features.classes} classes, but episodes need {WAYS}"
        if features.classes < WAYS
        else f"a class with {min(features.counts.together)} images, but {short[0] + QUERIES} are needed"
    )
    title = dataset_title(features.scored(SOURCE), dataset)
    return [notice("no-episodes", dataset.name, title=title, settings=settings, reason=reason)]


@dataclass(frozen=True)
class DatasetPlan:
    """The features of a data set for all backbones, and the cost of the missing ones.

    Attributes:
        features: features by backbone, in order; with hashes and paths if all of them exist.
        done: share of the images with existing features.
        bytes, seconds: bytes that this part of the work has yet to write, and estimated seconds of the extraction.
    """

    features: Sequence[ProbedFeatures]
    done: float
    bytes: int = 0
    seconds: float = 0.0


def plan_dataset(
    opened: OpenDataset, backbones: Sequence[Backbone], folder: Path, settings: Settings, gpus: int = 1
) -> DatasetPlan:
    """The features of a data set, and the cost of those that are missing in `folder`."""
    images, place = len(opened.manifest), folder / opened.dataset.name
    specs = [backbone.spec for backbone in backbones]
    left = of_all = _remaining(opened, specs, place, settings)
    if settings.part != WHOLE:  # which may have none left when other parts have
        of_all = _remaining(opened, specs, place, replace(settings, part=WHOLE))
    seconds = 0.0
    if not max(of_all) and (there := features_in(place, opened.dataset, [backbone.label for backbone in backbones])):
        return DatasetPlan(there, 1.0)
    if max(left):
        seconds = extraction_seconds(seconds_per_image(opened.source, backbones, settings), left, settings, gpus)
    features = [expected_features(opened, backbone.spec, backbone.label) for backbone in backbones]
    size = sum(feature_bytes(rows, each.dimension, settings) for each, rows in zip(features, left, strict=True))
    return DatasetPlan(features, 1 - max(of_all) / images, size, seconds)


def _remaining(opened: OpenDataset, specs: Sequence[Spec], place: Path, settings: Settings) -> list[int]:
    """Number of images of a data set without features, by backbone."""
    parts = [
        remaining_rows(opened.source, opened.manifest, split, specs, place, settings)
        for split in splits_of(opened.dataset)
    ]
    return [sum(of) for of in zip(*parts, strict=True)]
