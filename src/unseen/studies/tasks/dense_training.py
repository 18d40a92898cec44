"""Training on boxes and maps in the task study: the protocols of Ericsson et al. 2021, A.4 to A.6."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from unseen.backbones.backbone import Backbone
from unseen.device import default_device
from unseen.errors import UserError, argument, option
from unseen.features.about import BackboneAbout
from unseen.features.fingerprint import names_and_pixels
from unseen.images.dense.label_survey import refuse_unscorable, survey_labels
from unseen.images.dense.labels import Kind
from unseen.images.open_dataset import OpenDataset
from unseen.papers.comparability import ScoredData
from unseen.probes.by_name.dense_trained import DenseTrained, protocol_of_training, score_name
from unseen.probes.dense.bodies import Extension, extension_of
from unseen.probes.dense.protocols import (
    DETECTION_FINETUNED,
    DETECTION_FROZEN,
    NORMALS,
    SEGMENTATION,
    DenseProtocol,
    extended,
)
from unseen.probes.dense.work import train_and_score
from unseen.probes.job import Fit, Job, fits_kept
from unseen.runs.data import Backbone as RunBackbone
from unseen.runs.data import Domain, RunData
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.means import Means
from unseen.runs.notices import Notice, notice
from unseen.runs.parts import loads
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import SentBackbone, sent_backbones
from unseen.runs.setup import ProtocolUsed, Setup
from unseen.studies.concepts.study import training_data
from unseen.studies.study import Cell, Plan, Prepared, Watch
from unseen.studies.tasks.dense_work import label_flaws, label_notices
from unseen.studies.tasks.features import STUDY
from unseen.studies.tasks.own_record import own_citations, own_images, own_notices
from unseen.studies.tasks.page_data import PICTURES
from unseen.studies.tasks.study import TITLE

SPLITS = ("train", "test")
CHECKPOINTS = "checkpoints"
BY_KIND: dict[Kind, tuple[DenseProtocol, ...]] = {
    "boxes": (DETECTION_FROZEN, DETECTION_FINETUNED),
    "normals": (NORMALS,),
    "classes": (SEGMENTATION,),
}
"""The paper's protocols for each kind of labels; it has none for depth."""
MEASURED_STEPS = {"cuda": (8, 16), "cpu": (1, 2)}
"""For estimates, by device: the number of warm-up steps and of timed steps.

The first steps include the setup of a GPU, and use batches that were prepared in the meantime. If preparing batches is
the bottleneck, they then arrive in bursts, so the mean over several bursts is used, not the median.
"""


@dataclass(frozen=True, eq=False)
class _Trains:
    """Computes the values of a training; data sets are opened and backbones are loaded once. It is picklable.

    Attributes:
        out: folder of the run.
        device: None for the device of the worker.
    """

    datasets: Mapping[str, OpenDataset]
    backbones: Mapping[str, SentBackbone]
    out: Path
    device: str | None
    watch: Watch

    def __call__(self, job: Job) -> dict[str, Any]:
        device = torch.device(self.device) if self.device else default_device()
        checkpoint, data = _checkpoint(job, self.out), self.datasets[job.dataset]
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        protocol = protocol_of_training(job)
        name = score_name(protocol.backbone, protocol.name)
        step = self.watch.stepping(f"{job.dataset}, {job.backbone}, {name}", protocol.steps)
        copy, pictures = _copy(self.backbones[job.backbone].loaded("cpu")), self.out / PICTURES / job.key
        values, details = train_and_score(
            job, protocol, copy, data, device, checkpoint=checkpoint, pictures=pictures, watch=step
        )
        fit = Fit(name, None, job.seed, values, details | {"classes": list(data.classes)})
        return fits_kept([fit]) | {"device": device.type}


def _checkpoint(job: Job, out: Path) -> Path:
    return out / CHECKPOINTS / f"{job.key}.pt"


def _copy(backbone: Backbone) -> Backbone:
    """A copy of a backbone whose module may be changed."""
    return replace(backbone, module=deepcopy(backbone.module))


@dataclass(frozen=True, eq=False)
class DenseTrainingRequest:
    """Training of every backbone on every data set.

    Attributes:
        shorten: maps the paper's protocol to the one that is used; a short form has another name.
    """

    datasets: Sequence[OpenDataset]
    backbones: Sequence[Backbone]
    device: torch.device
    shorten: Callable[[DenseProtocol], DenseProtocol] = lambda protocol: protocol
    seed: int = 0

    @cached_property
    def protocols(self) -> dict[tuple[str, str], list[DenseProtocol]]:
        """The protocols by data set and backbone; those that go beyond the paper have another name."""
        depths = [data.dataset.name for data in self.datasets if data.dataset.kind not in BY_KIND]
        if depths:
            raise UserError(
                f"{depths[0]}: there is no training protocol for depth; leave out {option('finetune', True)} to probe "
                "patch features"
            )
        return {
            (data.dataset.name, each.label): [
                self.shorten(extended(protocol) if (each.label, protocol.name) in self._extensions else protocol)
                for protocol in BY_KIND[data.dataset.kind]
            ]
            for data in self.datasets
            for each in self.backbones
        }

    @cached_property
    def _extensions(self) -> dict[tuple[str, str], Extension]:
        """The extensions beyond the paper by backbone and name of the paper's protocol."""
        kinds = {data.dataset.kind for data in self.datasets}
        asked = [protocol for kind, protocols in BY_KIND.items() if kind in kinds for protocol in protocols]
        return {
            (each.label, protocol.name): found
            for each in self.backbones
            for protocol in asked
            if (found := extension_of(each, protocol)) is not None
        }

    @cached_property
    def jobs(self) -> list[Job]:
        """The jobs by data set, protocol and backbone."""
        arithmetic = "float16" if self.device.type == "cuda" else "float32"
        found = []
        for data in self.datasets:
            refuse_unscorable(data)
            images, labels = names_and_pixels(data.source, data.manifest, SPLITS), survey_labels(data).digest
            found += [
                DenseTrained(protocol).job(
                    each.label, each.spec, data.dataset.name, data.dataset.kind, images, labels, self.seed, arithmetic
                )
                for number in range(len(BY_KIND[data.dataset.kind]))
                for each in self.backbones
                for protocol in [self.protocols[data.dataset.name, each.label][number]]
            ]
        return found

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the missing trainings."""
        refuse_other_run(out, Setup(protocols=self._used(), finetunings=self._finetunings()))
        left = missing(self.jobs, out / RESULTS)
        parts: list[dict[str, Cell]] = []
        for job in self.jobs:
            counts, protocol = Counter(self._data(job).manifest.splits), protocol_of_training(job)
            parts.append(
                {
                    "data set": job.dataset,
                    "backbone": job.backbone,
                    "trained": score_name(protocol.backbone, protocol.name),
                    "train": counts["train"],
                    "test": counts["test"],
                    "steps left": protocol.steps if job in left else 0,
                }
            )
        seconds = self._seconds(left) / means.places
        return Plan(
            TITLE, parts, len(self.jobs), len(left), probing=seconds, loads=loads(self.jobs, left),
            notices=self._notices(),
        )  # fmt: skip

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """The trainings as jobs."""
        return Prepared(
            self._run(),
            self.jobs,
            lambda jobs, results, means: self._train(jobs, results, means, watch),
            lambda jobs, results, means: self._seconds(missing(jobs, results)) / means.places,
        )

    def _train(self, jobs: Sequence[Job], results: Path, means: Means, watch: Watch) -> Iterator[Job]:
        if means.spread and self.device.type != default_device().type:
            raise UserError(f"{argument('device')} selects one device, but these trainings use several; leave it out")
        device = None if means.spread else str(self.device)
        data = {each.dataset.name: each for each in self.datasets}
        work = OneByOne(_Trains(data, sent_backbones(self.backbones), results.parent, device, watch))
        for job in execute(jobs, results, work, spread_or(means, run_groups)):
            _checkpoint(job, results.parent).unlink(missing_ok=True)
            yield job

    def _seconds(self, jobs: Sequence[Job]) -> float:
        """Estimated seconds, from timing a few steps of each network on the images."""
        every = {(job.backbone, job.dataset, job.protocol): job for job in jobs}
        return sum(protocol_of_training(job).steps * self._step_seconds(job) for job in every.values())

    def _step_seconds(self, job: Job) -> float:
        (passed, timed), times = MEASURED_STEPS[self.device.type], list[float]()
        few = replace(protocol_of_training(job), steps=passed + timed, warm_up=0, milestones=())
        train_and_score(
            job,
            few,
            _copy(next(each for each in self.backbones if each.label == job.backbone)),
            self._data(job),
            self.device,
            every=1,
            watch=lambda _: times.append(time.perf_counter()),
            test=False,
        )
        return (times[-1] - times[passed - 1]) / timed

    def _data(self, job: Job) -> OpenDataset:
        return next(each for each in self.datasets if each.dataset.name == job.dataset)

    def _used(self) -> list[ProtocolUsed]:
        every = {each.name: each for of in self.protocols.values() for each in of}
        return [ProtocolUsed.of(score_name(each.backbone, each.name), each) for each in every.values()]

    def _finetunings(self) -> dict[str, BackboneAbout]:
        return {each.label: BackboneAbout.of(each.spec) for each in self.backbones}

    def _notices(self) -> list[Notice]:
        """Notices about short forms of the protocols and about extensions beyond the paper."""
        every = {each.name: each for of in self.protocols.values() for each in of}
        short = [each for each in every.values() if each.name.endswith("-short")]
        sizes = {each.label: each.spec.transform.size for each in self.backbones}
        beyond = dict.fromkeys((name, code) for (name, _), code in self._extensions.items())
        return [
            *(notice("short-training", protocol=each.name, steps=each.steps) for each in short),
            *(notice(code, backbone=name, size=sizes[name]) for name, code in beyond),
            *(each for data in self.datasets for each in label_notices(data)),
        ]

    def _run(self) -> RunData:
        datasets = [data.dataset for data in self.datasets]
        return RunData(
            title=TITLE,
            scores=(),
            domains=[Domain(each.name, each.title, classes=each.classes, licence=each.licence) for each in datasets],
            backbones=[
                RunBackbone(
                    each.label,
                    "yours",
                    f"{each.spec.parameters:,} parameters",
                    training_data=training_data(each.spec.id, BackboneAbout.of(each.spec)),
                    finetuning=BackboneAbout.of(each.spec),
                )
                for each in self.backbones
            ],
            baseline=self.backbones[0].label,
            told=[*self._notices(), *own_notices(datasets)],
            protocols=self._used(),
            images=own_images(datasets),
            remarks=own_citations(datasets),
            scored=[
                ScoredData(
                    each.label,
                    data.dataset.name,
                    self.protocols[data.dataset.name, each.label][0].name,
                    data.dataset.classes,
                    {split: Counter(data.manifest.splits)[split] for split in SPLITS},
                    "given",
                )
                for data in self.datasets
                for each in self.backbones
            ],
            flaws=[flaw for data in self.datasets for flaw in label_flaws(data)],
            study=STUDY,
        )
