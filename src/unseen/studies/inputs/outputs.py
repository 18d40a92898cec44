"""Classifiers on test sets of several distributions: their outputs are stored, then scored on choices of classes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.features.disk import free_disk
from unseen.features.settings import Settings
from unseen.probes.job import Job
from unseen.runs.data import Domain, RunData
from unseen.runs.execute import execute, execute_whole
from unseen.runs.executors import choose_executor
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.notices import left_out
from unseen.runs.parts import loads
from unseen.runs.results import RESULTS, missing
from unseen.runs.setup import FeatureKey, ImagesUsed, Setup
from unseen.studies.inputs.stage import Prepared
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.plan import Plan
from unseen.studies.record import Described, Measured, domain_records, images_used, run_record, run_title
from unseen.studies.shifts.accuracies import check_columns
from unseen.studies.shifts.columns import OWN, Column, table_columns, unmapped
from unseen.studies.shifts.evaluate import OUTPUTS, Evaluation, by_model, write_tables
from unseen.studies.shifts.plans import ModelPlan, check_plans
from unseen.studies.shifts.survey import Survey, Surveyed, TestImages, survey_models
from unseen.studies.study import Study
from unseen.studies.watch import Watch

TEST = "test"


@dataclass(frozen=True, eq=False)
class OutputStage:
    """Classifiers on test sets.

    Attributes:
        data: the data sets, and `sets` their test images.
        scopes: classes to score on: any of "own", "shared" and names of test sets (`unseen.studies.shifts.columns`).
        mapping: name → class, for labels and for outputs of models; names that are not in it are left out.
    """

    study: Study
    opened: OpenedData
    plans: Sequence[ModelPlan]
    data: Sequence[StudyData]
    sets: Sequence[OpenDataset]
    settings: Settings
    scopes: Sequence[str] = (OWN,)
    mapping: Mapping[str, str] | None = None

    @cached_property
    def images(self) -> tuple[TestImages, ...]:
        return tuple(TestImages(opened) for opened in self.sets)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return table_columns({each.name: each.labels for each in self.images}, self.scopes, self.mapping)

    @cached_property
    def _surveys(self) -> dict[Path, Survey]:
        return {}

    def survey(self, out: Path) -> Survey:
        """The work to do in a folder, cached, since every model is loaded to find it out."""
        if out not in self._surveys:
            self._surveys[out] = survey_models(self.plans, self.images, self.columns, self.settings, out)
        return self._surveys[out]

    def setup(self) -> Setup:
        return Setup(images=self._images_used())

    def plan(self, out: Path, means: Means) -> Plan:
        check_plans(self.plans)
        check_columns(out, self.columns)
        found = self.survey(out)
        jobs = found.jobs
        if not jobs:
            raise UserError(_nothing_scored(found.passed_over))
        parts = [(model, part) for model in found.models for part in model.parts]
        todo = missing(jobs, out / RESULTS)
        return Plan(
            title=run_title(self.study, ["shifts"]),
            parts=[
                {
                    "model": model.plan.model, "test set": part.images.name, "images": len(part.images),
                    "to compute": part.left, "columns": len(part.jobs), "outputs": part.bytes,
                }
                for model, part in parts
            ],
            jobs=len(jobs),
            jobs_left=len(todo),
            extraction=sum(part.seconds for _, part in parts) / means.places,
            probing=sum(part.scoring for _, part in parts) / means.places,
            disk=sum(part.bytes for _, part in parts),
            free=free_disk(out),
            extracting=True,
            loads=loads(jobs, todo, shared=_model),
            notices=[
                *self.opened.absent,
                *(left_out(name, f"{name}: {why}") for name, why in found.passed_over.items()),
            ],
        )  # fmt: skip

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        found = self.survey(out)
        for sentence in self._sentences(found):
            watch.tell(sentence)
        # All jobs of a model in one call: it is loaded once and uses the whole device.
        here = choose_executor(Means(gpu=True))
        device = self.settings.device.partition(":")[0] if means.spread else self.settings.device
        settings = replace(self.settings, device=device, workers=decoders_each(means))
        work = Evaluation(found, self.columns, settings, out, watch)

        def run(jobs: Sequence[Job], results: Path, means: Means) -> Iterator[Job]:
            if means.spread:
                return execute_whole(jobs, results, work, choose_executor(means), by_model)
            return execute(jobs, results, work, here, grouped=by_model)

        return Prepared(
            run=self._run(found),
            jobs=found.jobs,
            work=run,
            seconds=lambda jobs, _, means: _seconds(found, jobs) / means.places,
            write_beside=lambda folder: write_tables(folder, watch),
            shared=_model,
            failures=[
                why if why.startswith(f"{model}: ") else f"{model}: {why}" for model, why in found.passed_over.items()
            ],
        )

    def _sentences(self, found: Survey) -> Iterator[str]:
        yield from (note for opened in self.sets for note in opened.notes)
        if self.mapping is not None:
            yield from unmapped(self.columns, {each.name: each.labels for each in self.images})
        for model in found.models:
            yield from (f"{model.plan.model}: {sentence}" for sentence in model.notes)
            for name in model.lacking:
                yield f"{model.plan.model}: skips {name}, since it has no outputs for its classes; {_remedy()}"

    def _images_used(self) -> list[ImagesUsed]:
        """Those of data sets that other probes may be fitted to are as these have them."""
        shifted = [tested for each, tested in zip(self.data, self.images, strict=True) if each.is_test_set]
        return [
            *images_used(self.opened, self.data),
            *(
                ImagesUsed(
                    each.name, TEST, images=len(each), hash=each.opened.manifest.content_hash, fingerprint=each.shown
                )
                for each in shifted
            ),
        ]

    def _run(self, found: Survey) -> RunData:
        jobs = found.jobs
        columns, models = {job.dataset for job in jobs}, [model for model in found.models if model.jobs]
        # Of a data set that other probes are fitted to, the column of its own classes is the data set itself.
        own = [each for each in self.data if not each.is_test_set and each.name in columns]
        names = {each.name for each in own}
        tested = {each.name: each.opened for each in self.images}
        part = Measured(
            backbones=[_described(model) for model in models],
            domains=[
                *domain_records(self.opened, own, {each.name: each.images.classes for each in own}, {}),
                *(
                    Domain(
                        column.name, column.name, classes=len(column.kept), axis="shifts",
                        shifted=tested[column.test_set].dataset.shifted, limit=tested[column.test_set].manifest.limit,
                    )
                    for column in self.columns
                    if column.name in columns - names
                ),
            ],
            images=self._images_used(),
            features=[FeatureKey(job.backbone, job.dataset, {OUTPUTS: job.key}) for job in jobs],
        )  # fmt: skip
        return run_record(self.study, self.opened, part)


def _model(job: Job) -> str:
    return job.backbone


def _seconds(found: Survey, jobs: Sequence[Job]) -> float:
    """Estimated seconds of the missing work on the test sets of some jobs."""
    parts = [part for model in found.models for part in model.parts if not {*jobs}.isdisjoint(part.jobs)]
    return sum(part.seconds + part.scoring for part in parts)


def _described(model: Surveyed) -> Described:
    """A model as a run describes it; without a group, it keeps that of an earlier part of the run."""
    spec, plan = model.spec, model.plan
    text = f"{spec.id}, {plan.description}, images of {spec.transform.size} pixels"
    return Described(plan.model, classifier=model.jobs[0].reads["classifier"], text=text, group=plan.group)


def _nothing_scored(passed_over: Mapping[str, str]) -> str:
    if passed_over:
        model, why = next(iter(passed_over.items()))
        more = f", and {len(passed_over) - 1} more could not be loaded" if len(passed_over) > 1 else ""
        named = why if why.startswith(f"{model}: ") else f"{model}: {why}"
        return f"no model is scored; {named}{more}"
    return f"no model has outputs for all classes of a column, so nothing is scored; {_remedy()}"


def _remedy() -> str:
    return "map the classes (mapping), or say which classes the outputs are (backbone.outputs, or the column classes)"
