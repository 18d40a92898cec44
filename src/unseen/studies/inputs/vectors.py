"""Probes of feature vectors on the data sets of a study, from images, from a folder of features, or from files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unseen.device import on_gpu
from unseen.errors import UserError
from unseen.features.costs import BackboneCost
from unseen.papers.comparability import ERICSSON_PROTOCOLS, PLAIN
from unseen.probes.job import Job
from unseen.runs.data import Axis, RunData
from unseen.runs.fit_progress import FitProgress
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.own_metric import metric_jobs
from unseen.runs.record import LEVELS
from unseen.runs.results import RESULTS
from unseen.runs.shots import refuse_shots
from unseen.studies.class_gaps import gaps_of_features
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage
from unseen.studies.inputs.vector_features import FeatureSource
from unseen.studies.matrix import needs_every_class, not_fitted
from unseen.studies.plan import Cell
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probes import StudyProbes
from unseen.studies.probing import estimate, job_cost, run
from unseen.studies.record import Described, Measured, about_features, cost_of, extraction_of
from unseen.studies.watch import Watch
from unseen.text.words import duration

COUNTED = {"train": "train", "val": "val", "test": "test", "all": "no split"}
"""Split → its column in the plan; data sets without splits are for few-shot episodes only."""


@dataclass(frozen=True, eq=False)
class VectorStage(Stage):
    """Probes of feature vectors.

    Attributes:
        probes: those on vectors, and metrics of the user's own.
    """

    probes: StudyProbes
    source: FeatureSource

    @property
    def axis(self) -> Axis:
        return self.source.axis

    @property
    def stores(self) -> bool:
        return self.source.extracts

    def measured(self) -> Measured:
        limits = {each.name: each.opened.manifest.limit for each in self.opened.data if each.opened}
        return Measured(
            self.opened.data, self.source.described, self.probes.protocols, limits=limits,
            splits=self.source.splits(self.opened), images=None if self.stores else (),
        )  # fmt: skip

    def planned(self, out: Path, means: Means) -> Planned:
        found = self.source.planned(out, means)
        features = found.features
        counted = [split for split in COUNTED if any(each.rows.get(split) for each in features)]
        return Planned(
            self._cells(features, means),
            [_row(each, found.done.get(each.dataset, 1.0), counted) for each in features],
            [*found.faults, *self._skipped(features)],
            found.seconds,
            found.bytes,
            partial(self._memory, features),
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        found = self.source.found(out, means, watch)
        features, levels = found.features, self.opened.levels

        def work(jobs: Sequence[Job]) -> Iterator[Job]:
            return run(jobs, features, out / RESULTS, means, partial(tell_fits, watch))

        def write_beside(folder: Path) -> None:
            if levels is not None and self.opened.domains:
                levels.levels.write(folder / LEVELS)

        record = self._record(features, [*found.faults, *self._skipped(features)])
        return Prepared(self._cells(features, means), record, work, write_beside)

    def _cells(self, features: Sequence[ProbedFeatures], means: Means) -> Cells:
        seconds = partial(estimate, features=features, means=means)
        return Cells(self._jobs(features), seconds, job_cost(features))

    def _jobs(self, features: Sequence[ProbedFeatures]) -> list[Job]:
        """All jobs, grouped by features; it is an error if no probe can be fitted at all."""
        jobs = [job for each in features for probe in self.probes.every for job in probe.vector_jobs(each)]
        if features and not jobs:
            self._refuse(features)
        return [*jobs, *metric_jobs(self.probes.metrics, jobs)]

    def _refuse(self, features: Sequence[ProbedFeatures]) -> None:
        fitting = [(each, probe) for each in features for probe in self.probes.every if each.takes(probe.probe)]
        if not fitting:
            probe, data = self.probes.every[0].probe, features[0]
            taken, splits = " or ".join(probe.targets), " and ".join(data.splits)
            raise UserError(
                f"{probe.name} cannot be fitted to {data.dataset}: it takes {taken} with training and test images, and "
                f"this data set has {data.target} ({splits}); unseen ls probes lists what each takes"
            )
        numbers = [*dict.fromkeys(number for _, probe in fitting for number in probe.numbers)]
        lacking = [
            (partial(probe.probe.total_shortage, each.counts), each.named_dataset)
            for each, probe in fitting
            if each.counts is not None
        ]
        refuse_shots(numbers, lacking)

    def _skipped(self, features: Sequence[ProbedFeatures]) -> list[Notice]:
        """Notices about shots for which a data set has too few samples, once for all backbones."""
        found = (
            each
            for data in features
            for probe in self.probes.every
            for each in probe.shot_notices(data, data.named_dataset)
        )
        return [*dict.fromkeys(found)]

    def _memory(self, features: Sequence[ProbedFeatures]) -> int:
        """Bytes of memory for the largest features with the most demanding probe."""
        probes = [each.probe for each in self.probes.every]
        return max(
            (each.memory(data.size(each), gpu=on_gpu()) for data in features for each in probes if data.takes(each)),
            default=0,
        )

    def _record(self, features: Sequence[ProbedFeatures], notices: Sequence[Notice]) -> RunData:
        used = {each.dataset for each in features}
        data = [each for each in self.opened.data if each.name in used]
        first = {each.backbone: each for each in reversed(features)}
        names = [*dict.fromkeys(each.backbone for each in features)]
        backbones = [
            Described(name, extraction_of(about_features(_place(first[name]))), cost=_cost(name, features))
            for name in names
        ]
        variant = "class-balanced" if self.study.class_balanced else PLAIN
        part = Measured(
            data,
            backbones,
            self.probes.protocols,
            concepts={each.name: self._concepts(each.name, features) for each in data},
            limits={each.dataset: each.limit for each in features},
            scored=[
                each.scored(self._protocol(each), variant=variant if self._is_level(each) else PLAIN)
                for each in features
            ],
            features=[self.source.key(each) for each in features],
            images=None if self.stores else (),
            flaws=[flaw for each in features for flaw in each.flaws],
            told=[*self.probes.remarks, *self._gaps(features), *notices],
            splits=self.source.splits(self.opened),
            remarks=self.source.remarks(features[0]),
        )
        return self.recorded(part)

    def _gaps(self, features: Sequence[ProbedFeatures]) -> list[Notice]:
        """Notices about classes that only test images have, and probes without them, once for all backbones."""
        titles = {each.name: each.dataset.title for each in self.opened.data}
        found = (each for of in features for each in gaps_of_features(of, titles[of.dataset]))
        without = (
            not_fitted(of.dataset, titles[of.dataset], needs_every_class(each.probe))
            for of in features
            for each in self.probes.every
            if of.untrained and not each.probe.takes_gaps and each.probe.takes_target(of.target)
        )
        return [*dict.fromkeys([*found, *without])]

    def _protocol(self, features: ProbedFeatures) -> str:
        """The protocol of the probe whose numbers are published for such data; of another one if it is not fitted."""
        kind = "levels" if self._is_level(features) else "tasks"
        fitted = [each.probe for each in self.probes.every]
        published = [each for each in fitted if each.published_on == kind]
        names = [each.protocol_name for each in (*published, *fitted) if each.protocol_name]
        alone = published and not any(each.protocol_name for each in published)  # episodes alone have no protocol
        return ERICSSON_PROTOCOLS[0] if alone else next(iter(names), "")

    def _is_level(self, features: ProbedFeatures) -> bool:
        return any(each.name == features.dataset for each in self.opened.domains)

    def _concepts(self, name: str, features: Sequence[ProbedFeatures]) -> Sequence[str]:
        """The classes of a domain: as its levels say, as its images are, or as its features name them."""
        data = next(each for each in self.opened.data if each.name == name)
        if data.opened is not None and data.is_domain:
            return data.opened.classes
        known = self.opened.levels.known.get(name) if self.opened.levels and data.is_domain else None
        own = next(each for each in features if each.dataset == name)
        return known or (own.names if data.is_file else tuple(sorted(own.names)))


def tell_fits(watch: Watch, progress: FitProgress) -> None:
    """Report the progress of a linear probe; worker processes call it too."""
    of = "constants" if progress.stage == "grid" else "fits to the optimum"
    left = duration(progress.left)
    watch.tell(f"{progress.what}: {progress.done} of at most {progress.total} {of}, {left} left at most")


def _place(features: ProbedFeatures) -> str:
    return next(iter(features.places.values()), "")


def _cost(backbone: str, features: Sequence[ProbedFeatures]) -> BackboneCost | None:
    """What the features of a backbone cost; of those in a file, only their dimensions are known."""
    own = [each for each in features if each.backbone == backbone]
    return cost_of(place for each in own for place in each.places.values()) or BackboneCost(own[0].dimension)


def _row(features: ProbedFeatures, done: float, counted: Sequence[str]) -> dict[str, Cell]:
    """A row of the plan, with the numbers of images of the splits `counted`."""
    counts: dict[str, Cell] = {COUNTED[split]: features.rows.get(split, 0) for split in counted}
    named: dict[str, Cell] = {"data set": features.dataset, "backbone": features.backbone, "classes": features.classes}
    return {**named, **counts, "dimensions": features.dimension, "extracted": done}
