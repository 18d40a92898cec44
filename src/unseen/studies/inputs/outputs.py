"""Classifiers on test sets of several distributions: their outputs are stored, then scored on choices of classes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.probes.job import Job
from unseen.runs.data import Axis, Domain
from unseen.runs.executors import execute_whole
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.notices import left_out
from unseen.runs.results import RESULTS
from unseen.runs.setup import FeatureKey, ImagesUsed
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage
from unseen.studies.opened import StudyData
from unseen.studies.record import Described, Measured, domain_records, images_used
from unseen.studies.shifts.accuracies import check_columns
from unseen.studies.shifts.columns import OWN, Column, table_columns, unmapped
from unseen.studies.shifts.evaluate import OUTPUTS, Evaluation, write_tables
from unseen.studies.shifts.plans import ModelPlan, check_plans
from unseen.studies.shifts.survey import Survey, Surveyed, Surveyor, TestImages
from unseen.studies.watch import Watch

TEST = "test"


@dataclass(frozen=True, eq=False)
class OutputStage(Stage):
    """Classifiers on test sets.

    Attributes:
        data: the data sets, and `sets` their test images.
        scopes: classes to score on: any of "own", "shared" and names of test sets (`unseen.studies.shifts.columns`).
        mapping: name → class, for labels and for outputs of models; names that are not in it are left out.
    """

    plans: Sequence[ModelPlan]
    data: Sequence[StudyData]
    sets: Sequence[OpenDataset]
    settings: Settings
    scopes: Sequence[str] = (OWN,)
    mapping: Mapping[str, str] | None = None
    extracting: ClassVar[bool] = True

    @property
    def axis(self) -> Axis:
        return "shifts"

    @property
    def stores(self) -> bool:
        return True

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
            self._surveys[out] = Surveyor(self.images, self.columns, self.settings, out).survey(self.plans)
        return self._surveys[out]

    def measured(self) -> Measured:
        return Measured(domains=(), images=self._images_used())  # no model is loaded before the survey

    def planned(self, out: Path, means: Means) -> Planned:
        check_plans(self.plans)
        check_columns(out, self.columns)
        found = self.survey(out)
        if not found.jobs:
            raise UserError(_nothing_scored(found.passed_over))
        parts = [(model, part) for model in found.models for part in model.parts]
        return Planned(
            self._cells(found, means),
            [
                {
                    "model": model.plan.model, "test set": part.images.name, "images": len(part.images),
                    "to compute": part.left, "columns": len(part.jobs), "outputs": part.bytes,
                }
                for model, part in parts
            ],
            [left_out(name, f"{name}: {why}") for name, why in found.passed_over.items()],
            sum(part.seconds for _, part in parts) / means.places,
            sum(part.bytes for _, part in parts),
        )  # fmt: skip

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        found = self.survey(out)
        for sentence in self._sentences(found):
            watch.tell(sentence)
        device = self.settings.device.partition(":")[0] if means.spread else self.settings.device
        settings = replace(self.settings, device=device, workers=decoders_each(means))
        evaluation = Evaluation(found, self.columns, settings, out, watch)

        def work(jobs: Sequence[Job]) -> Iterator[Job]:
            # All jobs of a model in one call: it is loaded once and uses the whole device.
            return execute_whole(jobs, out / RESULTS, evaluation, means, _model)

        return Prepared(
            self._cells(found, means),
            self.recorded(self._scored(found)),
            work,
            lambda folder: write_tables(folder, watch),
            [why if why.startswith(f"{model}: ") else f"{model}: {why}" for model, why in found.passed_over.items()],
        )

    def _cells(self, found: Survey, means: Means) -> Cells:
        return Cells(found.jobs, lambda jobs: _seconds(found, jobs) / means.places, shared=_model)

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

    def _scored(self, found: Survey) -> Measured:
        jobs = found.jobs
        columns, models = {job.dataset for job in jobs}, [model for model in found.models if model.jobs]
        # Of a data set that other probes are fitted to, the column of its own classes is the data set itself.
        own = [each for each in self.data if not each.is_test_set and each.name in columns]
        names = {each.name for each in own}
        tested = {each.name: each.opened for each in self.images}
        return replace(
            self.measured(),
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
            features=[FeatureKey(job.backbone, job.dataset, {OUTPUTS: job.key}) for job in jobs],
        )  # fmt: skip


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
