"""Probes that train networks on the images of data sets: fine-tuning, detectors and heads for maps."""

import json
import shutil
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.data.core.dense.label_survey import refuse_unscorable, survey_labels
from unseen.data.core.open_dataset import OpenDataset
from unseen.device import default_device
from unseen.errors import UserError, option
from unseen.features.about import BackboneAbout
from unseen.features.costs import BackboneCost
from unseen.features.disk import free_disk
from unseen.features.fingerprint import fingerprint
from unseen.files import byte_size
from unseen.papers.comparability import ScoredData
from unseen.probes.by_name import with_code
from unseen.probes.finetuning.images import whole_transform
from unseen.probes.image_cell import PIXELS, ImageInputs, checkpoints_of
from unseen.probes.job import Job
from unseen.probes.trainings import TrainingProbe
from unseen.runs.data import Axis
from unseen.runs.execute import execute, groups_of
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.lock import shared_use
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.notices import Notice, notice, told
from unseen.runs.parts import same_features
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import sent_backbones
from unseen.runs.setup import ProtocolUsed
from unseen.studies.class_gaps import gap_notices
from unseen.studies.inputs.map_labels import label_flaws, label_notices
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage
from unseen.studies.inputs.training_work import TrainingWork, images_digest
from unseen.studies.matrix import takes
from unseen.studies.opened import StudyData
from unseen.studies.plan import Cell
from unseen.studies.probes import StudyProbe
from unseen.studies.record import Described, Measured
from unseen.studies.stored_features import FEATURES, Place, stores_in
from unseen.studies.watch import Silent, Watch
from unseen.studies.waves import in_waves, one_after_another, with_needs


@dataclass(frozen=True, eq=False)
class TrainingStage(Stage):
    """Trainings of every backbone on every data set.

    Attributes:
        every: the probes.
        data: data sets of classes, or of boxes and maps, which differ in the preprocessing of backbones.
        added: whether an earlier call extracted the features that a reference is compared with.
    """

    every: Sequence[StudyProbe]
    data: Sequence[StudyData]
    backbones: Sequence[Backbone]
    added: bool = False

    @cached_property
    def inputs(self) -> list[tuple[StudyData, ImageInputs]]:
        """The cells, by data set and backbone."""
        arithmetic, found = "float16" if default_device().type == "cuda" else "float32", []
        for data in self.data:
            opened, labels = data.images, ""
            if data.dataset.dense:
                refuse_unscorable(opened)
                labels = survey_labels(opened).digest
            images = images_digest(opened)
            for backbone in self.backbones:
                found.append((data, ImageInputs(backbone, data.dataset, images, opened.rows, arithmetic, labels)))
        return found

    @cached_property
    def cells(self) -> list[tuple[Job, StudyData, ImageInputs, TrainingProbe]]:
        """The jobs with what they are of, by data set, probe and backbone."""
        found = []
        for data in self.data:
            for each in self.every:
                probe = each.probe
                assert isinstance(probe, TrainingProbe)
                for of, inputs in self.inputs if takes(probe, data) else ():
                    if of is data:
                        found += [(job, data, inputs, probe) for job in with_code(probe.jobs(inputs, each.seeds))]
        return found

    @property
    def jobs(self) -> list[Job]:
        return [job for job, *_ in self.cells]

    @property
    def axis(self) -> Axis:
        return "concepts" if any(each.is_domain for each in self.data) else "tasks"

    def planned(self, out: Path, means: Means) -> Planned:
        for _, data, inputs, probe in self.cells if self.added else ():
            if probe.is_reference:
                refuse_other_features(out, data.images, inputs.backbone)
        rows, results = list[dict[str, Cell]](), out / RESULTS
        left = {job.key for job in missing(with_needs(self.jobs, results), results)}
        for job, data, inputs, probe in self.cells:
            own = [each for each in (*job.needs, job) if each.key in left]
            todo = own if job.key in left else []
            images: dict[str, Cell] = {split: inputs.rows[split] for split in ("train", "val", "test")}
            rows.append(
                {
                    "data set": job.dataset, "backbone": job.backbone, "probe": probe.name, "seed": job.seed, **images,
                    "trainings left": len(todo), "steps left": sum(map(_steps, todo)),
                    "decoded images": _decoded_bytes(data, inputs) if todo and _probe(job).decodes else 0,
                }
            )  # fmt: skip
        most, free = max((int(row["decoded images"]) for row in rows), default=0), free_disk(out)
        lacking = f"{out}: {byte_size(most)} of decoded images are to be written, but {byte_size(free)} are free."
        notices = [*self._remarks, *([told(lacking)] if most > free else [])]
        return Planned(self._cells(out, means), rows, notices)

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        work = partial(self._train, out=out, means=means, watch=watch)
        return Prepared(self._cells(out, means), self.recorded(self.measured()), work)

    def _cells(self, out: Path, means: Means) -> Cells:
        return Cells(self.jobs, partial(self._seconds, out=out, means=means), expanded=with_needs)

    def _work(self, out: Path, workers: int, watch: Watch) -> TrainingWork:
        opened = {each.name: each.images for each in self.data}
        return TrainingWork(opened, sent_backbones(self.backbones), out, workers, watch)

    def _train(self, jobs: Sequence[Job], out: Path, means: Means, watch: Watch) -> Iterator[Job]:
        """Run the missing trainings; a failure does not stop the others.

        In this process, backbones and data sets are trained one after another, so that decoded images of only one data
        set are on disk; on several devices, all settings are tried first.
        """
        results, work = out / RESULTS, self._work(out, decoders_each(means), watch)
        executor = spread_or(means, run_groups)

        def run(some: Sequence[Job]) -> Iterator[Job]:
            for job in execute(some, results, work, executor):
                for path in checkpoints_of(out, job):
                    path.unlink(missing_ok=True)
                yield job

        def of(some: Sequence[Job]) -> Iterator[Job]:
            with self._decoded_images(some, out):
                yield from in_waves(some, results, run)
                work.forget()

        groups = [list(jobs)] if means.spread else groups_of(jobs, same_features)
        yield from one_after_another(partial(of, group) for group in groups)

    @contextmanager
    def _decoded_images(self, jobs: Sequence[Job], out: Path) -> Iterator[None]:
        """Use the decoded images of data sets; at the end, remove those that no job and no other process needs."""
        names = sorted({job.dataset for job in jobs if _probe(job).decodes})
        with ExitStack() as uses:
            alone = {name: uses.enter_context(shared_use(out / f".{PIXELS}-{name}.lock")) for name in names}
            yield
            for name, is_alone in alone.items():
                if not missing([job for job in self.jobs if job.dataset == name], out / RESULTS) and is_alone():
                    shutil.rmtree(out / PIXELS / name, ignore_errors=True)

    def _seconds(self, jobs: Sequence[Job], out: Path, means: Means) -> float:
        """Estimated seconds of trainings, without decoding."""
        seconds, work, measured = 0.0, self._work(out, 0, Silent()), dict[Hashable, float]()
        for job in jobs:
            probe = _probe(job)
            what = job.backbone, probe.timed(job)
            if what not in measured:
                measured[what] = probe.step_seconds(work.cell(job), job)
            seconds += _steps(job) * measured[what]
        return seconds / means.places

    @cached_property
    def _remarks(self) -> list[Notice]:
        """What a reader must know of the protocols on these backbones, and of classes that cannot be learned."""
        remarks = [each for _, _, inputs, probe in self.cells for each in probe.image_remarks(inputs)]
        lacking = [each for data in self.data if data.dataset.dense for each in label_notices(data.images)]
        lacking += [each for data in self.data for each in gap_notices(data.images)]
        return [*dict.fromkeys([*(notice(code, **about) for code, about in remarks), *lacking])]

    def measured(self) -> Measured:
        used = dict[str, ProtocolUsed]()
        for _, _, inputs, probe in self.cells:
            name = probe.on(inputs).variant
            used[name] = ProtocolUsed.of(name, probe.used(inputs))
        scored = {
            (job.backbone, job.dataset): (data, inputs, probe) for job, data, inputs, probe in reversed(self.cells)
        }
        return Measured(
            self.data,
            [self._described(each) for each in self.backbones],
            list(used.values()),
            concepts={each.name: each.images.classes for each in self.data if each.is_domain},
            limits={each.name: each.images.manifest.limit for each in self.data},
            scored=[
                ScoredData(
                    name,
                    dataset,
                    probe.on(inputs).protocol_name,
                    _classes(data),
                    dict(inputs.rows),
                    "given",
                    limit=data.images.manifest.limit,
                )
                for (name, dataset), (data, inputs, probe) in reversed(scored.items())
                if not data.is_domain
            ],
            flaws=[flaw for each in self.data if each.dataset.dense for flaw in label_flaws(each.images)],
            told=self._remarks,
            splits=self.opened.splits,
        )

    def _described(self, backbone: Backbone) -> Described:
        spec, about = backbone.spec, BackboneAbout.of(backbone.spec)
        if any(each.dataset.dense for each in self.data):  # other sizes than those of whole images
            text = f"{spec.parameters:,} parameters"
            known = BackboneCost(parameters=BackboneCost.of(backbone).parameters)
            return Described(backbone.label, finetuning=replace(about, transform=None), text=text, cost=known)
        text = "" if any(each.is_domain for each in self.data) else f"{spec.dimension} features, fine-tuned"
        return Described(backbone.label, finetuning=about, text=text, cost=BackboneCost.of(backbone))


def _classes(data: StudyData) -> int:
    return data.dataset.classes if data.dataset.dense else len(data.images.classes)


def _probe(job: Job) -> TrainingProbe:
    """The probe of a training, which may be a trial that another one needs."""
    probe = job.fitted
    assert isinstance(probe, TrainingProbe)
    return probe


def _decoded_bytes(data: StudyData, inputs: ImageInputs) -> int:
    transform, rows = inputs.backbone.spec.transform, inputs.rows
    trained = rows["train"] + rows["val"]
    return 3 * (sum(rows.values()) * transform.size**2 + trained * whole_transform(transform).size ** 2)


def _steps(job: Job) -> int:
    steps: int = job.settings["protocol"]["steps"]
    return steps


def refuse_other_features(out: Path, opened: OpenDataset, backbone: Backbone) -> None:
    """Refuse images or a backbone that differ from those of its features in the folder of a run, if there are any."""
    stores = [each for each in stores_in(out / FEATURES / opened.name) if each.backbone == backbone.label]
    for split in ("train", "test"):
        own = [store for store in stores if store.split == split]
        faults = [_fault(store, split, opened, backbone) for store in own]
        if own and all(faults):
            raise UserError(f"{own[0].path}: {faults[0]}")


def _fault(store: Place, split: str, opened: OpenDataset, backbone: Backbone) -> str:
    """How features differ from those that these images and this backbone would have; empty if they do not."""
    if any(store.about.get(name, value) != value for name, value in _shown(opened, split).items()):
        return (
            f"the {split} features of {opened.name} were extracted from other images; give the images and the splits "
            f"of the run ({option('data')})"
        )
    # Descriptions of stores went through JSON, which turns tuples into lists.
    spec, known = json.loads(json.dumps(asdict(backbone.spec))), store.about["backbone"]
    if known == spec:
        return ""
    other = [name for name in spec if known.get(name) != spec[name]]
    what = "weights" if "digest" in other else ", ".join(other)
    return (
        f"extracted with other {what} than {backbone.label} has now; load the backbone as in the run (its study.toml "
        "says how)"
    )


def _shown(opened: OpenDataset, split: str) -> dict[str, Any]:
    """What the description of a store says of its images: hashes of names and of pixels."""
    source, manifest = opened.part(split)
    return {"manifest": manifest.content_hash, "images": fingerprint(source, manifest.numbers(source, split))}
