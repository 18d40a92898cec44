"""Probes that train networks on the images of data sets: fine-tuning, detectors and heads for maps."""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.data.core.dense.label_survey import refuse_unscorable, survey_labels
from unseen.device import default_device
from unseen.features.about import BackboneAbout
from unseen.features.disk import free_disk
from unseen.files import byte_size
from unseen.papers.comparability import ScoredData
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.dense.trained_head import TrainedHead
from unseen.probes.finetuning.images import whole_transform
from unseen.probes.finetuning.trial import Trial
from unseen.probes.image_cell import PIXELS, ImageInputs, checkpoints_of
from unseen.probes.job import Job
from unseen.runs.data import Axis
from unseen.runs.execute import execute
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.lock import shared_use
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.notices import Notice, notice, told
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import sent_backbones
from unseen.runs.setup import ProtocolUsed, Setting
from unseen.studies.finetuning import Steps, training_seconds
from unseen.studies.inputs.map_labels import label_flaws, label_notices
from unseen.studies.inputs.same_images import refuse_other_features
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage
from unseen.studies.inputs.training_work import TrainingWork, images_digest
from unseen.studies.matrix import takes
from unseen.studies.opened import StudyData
from unseen.studies.plan import Cell
from unseen.studies.probes import StudyProbe
from unseen.studies.record import Described, Measured
from unseen.studies.watch import Silent, Watch
from unseen.studies.waves import in_waves, one_after_another, with_needs

Trainer = FineTuned | TrainedHead


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
    def cells(self) -> list[tuple[Job, StudyData, ImageInputs, Trainer]]:
        """The jobs with what they are of, by data set, probe and backbone."""
        found = []
        for data in self.data:
            for each in self.every:
                probe = each.probe
                assert isinstance(probe, FineTuned | TrainedHead)
                for of, inputs in self.inputs if takes(probe, data) else ():
                    if of is data:
                        found += [(job, data, inputs, probe) for job in probe.jobs(inputs, each.seeds)]
        return found

    @property
    def jobs(self) -> list[Job]:
        return [job for job, *_ in self.cells]

    @property
    def axis(self) -> Axis:
        return "concepts" if any(each.is_domain for each in self.data) else "tasks"

    def planned(self, out: Path, means: Means) -> Planned:
        for _, data, inputs, probe in self.cells if self.added else ():
            if isinstance(probe, FineTuned) and probe.is_reference:
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
                    "decoded images": _decoded_bytes(data, inputs) if todo and _decodes(job) else 0,
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

        groups = [list(jobs)] if means.spread else _by_cell(jobs)
        yield from one_after_another(partial(of, group) for group in groups)

    @contextmanager
    def _decoded_images(self, jobs: Sequence[Job], out: Path) -> Iterator[None]:
        """Use the decoded images of data sets; at the end, remove those that no job and no other process needs."""
        names = sorted({job.dataset for job in jobs if _decodes(job)})
        with ExitStack() as uses:
            alone = {name: uses.enter_context(shared_use(out / f".{PIXELS}-{name}.lock")) for name in names}
            yield
            for name, is_alone in alone.items():
                if not missing([job for job in self.jobs if job.dataset == name], out / RESULTS) and is_alone():
                    shutil.rmtree(out / PIXELS / name, ignore_errors=True)

    def _seconds(self, jobs: Sequence[Job], out: Path, means: Means) -> float:
        """Estimated seconds of trainings, without decoding."""
        seconds, work, measured = 0.0, self._work(out, 0, Silent()), dict[tuple[str, str, str], float]()
        counts = Counter[tuple[str, int]]()
        for job in jobs:
            probe, cell = job.fitted, (job.backbone, job.dataset, job.probe)
            if isinstance(probe, TrainedHead):
                if cell not in measured:
                    measured[cell] = probe.step_seconds(work.cell(job), job)
                seconds += _steps(job) * measured[cell]
            else:
                counts[job.backbone, _batch(job)] += _steps(job)
        networks = {each.label: each for each in self.backbones}
        todo = [Steps(networks[name], batch, count) for (name, batch), count in counts.items()]
        return (seconds + training_seconds(todo, default_device())) / means.places

    @cached_property
    def _remarks(self) -> list[Notice]:
        """What a reader must know of the protocols on these backbones."""
        heads = [(inputs, probe) for _, _, inputs, probe in self.cells if isinstance(probe, TrainedHead)]
        found = [notice(code, **about) for inputs, probe in heads for code, about in probe.image_remarks(inputs)]
        grids = [probe.short for _, _, _, probe in self.cells if isinstance(probe, FineTuned)]
        dense = [each.images for each in self.data if each.dataset.dense]
        lacking = [each for data in dense for each in label_notices(data)]
        return [*dict.fromkeys([*found, *map(told, filter(None, grids)), *lacking])]

    def measured(self) -> Measured:
        used = dict[str, ProtocolUsed]()
        for job, _, inputs, probe in self.cells:
            if isinstance(probe, TrainedHead):
                each = probe.for_backbone(inputs)
                used[each.variant] = ProtocolUsed.of(each.variant, each.protocol)
            else:
                used[probe.name] = _tuning(probe, job.arithmetic)
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
                    _protocol(probe, inputs),
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
            return Described(
                backbone.label, finetuning=replace(about, transform=None), text=f"{spec.parameters:,} parameters"
            )
        text = "" if any(each.is_domain for each in self.data) else f"{spec.dimension} features, fine-tuned"
        return Described(backbone.label, finetuning=about, text=text)


def _tuning(probe: FineTuned, arithmetic: str) -> ProtocolUsed:
    """The protocol of fine-tuning; the number of steps of a reference follows from the data set."""
    if probe.is_reference:
        settings: dict[str, Setting] = {
            "epochs": probe.epochs,
            "batch": probe.batch or 256,
            "rate": probe.rate,
            "arithmetic": arithmetic,
        }
        return ProtocolUsed(probe.name, probe.protocol_name, settings)
    return ProtocolUsed.of(probe.name, probe.grid)


def _protocol(probe: Trainer, inputs: ImageInputs) -> str:
    return probe.for_backbone(inputs).protocol_name if isinstance(probe, TrainedHead) else probe.protocol_name


def _classes(data: StudyData) -> int:
    return data.dataset.classes if data.dataset.dense else len(data.images.classes)


def _decodes(job: Job) -> bool:
    """Whether a training keeps decoded images on disk."""
    probe = job.fitted
    return isinstance(probe, Trial) or (isinstance(probe, FineTuned) and not probe.is_reference)


def _decoded_bytes(data: StudyData, inputs: ImageInputs) -> int:
    transform, rows = inputs.backbone.spec.transform, inputs.rows
    trained = rows["train"] + rows["val"]
    return 3 * (sum(rows.values()) * transform.size**2 + trained * whole_transform(transform).size ** 2)


def _steps(job: Job) -> int:
    steps: int = job.settings["protocol"]["steps"]
    return steps


def _batch(job: Job) -> int:
    batch: int = job.settings["protocol"]["batch"]
    return batch


def _by_cell(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs of each data set and backbone; heads of one data set are trained one after another anyway."""
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.dataset, job.backbone), []).append(job)
    return list(groups.values())
