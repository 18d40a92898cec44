"""The request for the shift study: models on test sets of several distributions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

from unseen.errors import UserError, option
from unseen.features.disk import free_disk
from unseen.features.settings import Settings
from unseen.images.open_dataset import OpenDataset, open_dataset
from unseen.images.own.one_split import open_test_set, refuse_same_names
from unseen.images.own.own_data import OwnData
from unseen.images.registry import shift_sets
from unseen.images.test_sets import get_sets, sets_below
from unseen.probes.job import Job
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.execute import execute, execute_whole
from unseen.runs.executors import choose_executor
from unseen.runs.lock import folder_lock
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.notices import left_out
from unseen.runs.parts import loads
from unseen.runs.record import RUN, read_record, refuse_other_run, write_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.setup import FeatureKey, ImagesUsed, Setup
from unseen.studies.shifts.accuracies import check_columns
from unseen.studies.shifts.columns import OWN, Column, table_columns, unmapped
from unseen.studies.shifts.evaluate import Evaluation, by_model, write_tables
from unseen.studies.shifts.plans import ModelPlan, check_plans
from unseen.studies.shifts.study import STUDY
from unseen.studies.shifts.survey import Survey, Surveyed, TestImages, survey_models
from unseen.studies.study import Plan, Prepared, Watch
from unseen.text.words import counted

TITLE = "Accuracy under distribution shift"
TEST = "test"


@dataclass(frozen=True, eq=False)
class ShiftRequest:
    """A request to evaluate models on test sets.

    Attributes:
        scopes: classes to score on: any of "own", "shared" and names of test sets (`unseen.studies.shifts.columns`).
        mapping: name → class, for labels and for outputs of models; names that are not in it are left out.
    """

    plans: Sequence[ModelPlan]
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

    def plan(self, out: Path, means: Means) -> Plan:
        refuse_same_names(self.sets, shift_sets())
        check_plans(self.plans)
        _refuse_other_study(out)
        check_columns(out, self.columns)
        refuse_other_run(out, Setup(images=self._images_used()))
        found = self.survey(out)
        jobs = found.jobs
        if not jobs:
            raise UserError(_nothing_scored(found.passed_over))
        parts = [(model, part) for model in found.models for part in model.parts]
        todo = missing(jobs, out / RESULTS)
        return Plan(
            title=TITLE,
            parts=[
                {
                    "model": model.plan.model, "test set": part.images.name, "images": len(part.images),
                    "to compute": part.left, "columns": len(part.jobs), "disk": part.bytes,
                }
                for model, part in parts
            ],
            jobs=len(jobs),
            jobs_left=len(todo),
            units={"disk": "bytes"},
            counting=f"{counted(len(found.models), 'model')} on {counted(len(self.columns), 'column')}",
            extraction=sum(part.seconds for _, part in parts) / means.places,
            probing=sum(part.scoring for _, part in parts) / means.places,
            disk=sum(part.bytes for _, part in parts),
            free=free_disk(out),
            extracting=True,
            loads=loads(jobs, todo, shared=_model),
            notices=[left_out(name, f"{name} is passed over: {why}") for name, why in found.passed_over.items()],
        )  # fmt: skip

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        found = self.survey(out)
        for sentence in self._sentences(found):
            watch.tell(sentence)
        # All jobs of a model in one call: it is loaded once and uses the whole device.
        here = choose_executor(Means(gpu=True))
        device = self.settings.device.partition(":")[0] if means.spread else self.settings.device
        settings = replace(
            self.settings, device=device, workers=decoders_each(replace(means, workers=self.settings.workers))
        )
        work = Evaluation(found, self.columns, settings, out, watch)

        def run(jobs: Sequence[Job], results: Path, means: Means) -> Iterator[Job]:
            if means.spread:
                return execute_whole(jobs, results, work, choose_executor(means), by_model)
            return execute(jobs, results, work, here, grouped=by_model)

        _forget_replaced(out, found.jobs)
        return Prepared(
            run=self._run(out, found),
            jobs=found.jobs,
            work=run,
            seconds=lambda jobs, _, means: _seconds(found, jobs) / means.places,
            write_beside=lambda folder: write_tables(folder, watch),
            shared=_model,
        )

    def refuse_passed_over(self, out: Path) -> None:
        """Raise an error that names the models that could not be loaded, after the others are done."""
        passed_over = self.survey(out).passed_over
        if passed_over:
            each = "; ".join(f"{model}: {why}" for model, why in passed_over.items())
            raise UserError(
                f"{len(passed_over)} of {len(self.plans)} models could not be loaded ({each}); the others are in "
                f"{out}, and the same command adds these after they are corrected"
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
        return [
            ImagesUsed(
                each.name, TEST, images=len(each), hash=each.opened.manifest.content_hash, fingerprint=each.shown
            )
            for each in self.images
        ]

    def _run(self, out: Path, found: Survey) -> RunData:
        jobs = found.jobs
        asked, models = {job.dataset for job in jobs}, [model for model in found.models if model.jobs]
        shifted = {each.name: each.opened.dataset.shifted for each in self.images}
        before = {each.name: each.category for each in read_record(out)[0].backbones} if (out / RUN).is_file() else {}
        return RunData(
            title=TITLE,
            scores=(),
            domains=[
                Domain(column.name, column.name, classes=len(column.kept), shifted=shifted[column.test_set])
                for column in self.columns
                if column.name in asked
            ],
            backbones=[_backbone(model, before.get(model.plan.model, "")) for model in models],
            baseline=models[0].plan.model,
            images=self._images_used(),
            features=[FeatureKey(job.backbone, job.dataset, {TEST: job.key}) for job in jobs],
            study=STUDY,
        )


def open_sets(
    root: Path | None,
    names: Sequence[str] = (),
    own: Sequence[str | PathLike[str] | OwnData] = (),
    *,
    partial: bool = False,
) -> list[OpenDataset]:
    """Open the test sets in a folder, by names or patterns or all that exist, and the user's own.

    Args:
        root: the folder; None if there are only the user's own test sets.
        own: the user's own test sets; see `unseen.images.own.one_split`.
        partial: accept incomplete copies too.
    """
    if root is None and (names or not own):
        raise UserError(
            f"say which test sets: the folder that published ones are below ({option('sets')}), or your own "
            f"({option('test-set', python='test_sets')})"
        )
    chosen = () if root is None else get_sets(names) if names else sets_below(root)
    if root is not None and not chosen and not own:
        raise UserError(f"{root}: contains no test set; unseen ls shift-sets shows the expected folders")
    published = [open_dataset(each, root, partial=partial) for each in chosen if root is not None]
    return [*published, *(open_test_set(place, partial=partial) for place in own)]


def _model(job: Job) -> str:
    return job.backbone


def _seconds(found: Survey, jobs: Sequence[Job]) -> float:
    """Estimated seconds of the missing work on the test sets of some jobs."""
    parts = [part for model in found.models for part in model.parts if not {*jobs}.isdisjoint(part.jobs)]
    return sum(part.seconds + part.scoring for part in parts)


def _backbone(model: Surveyed, group: str) -> Backbone:
    """A model keeps its group unless another is given."""
    spec, plan = model.spec, model.plan
    description = f"{spec.id}, {plan.description}, images of {spec.transform.size} pixels"
    return Backbone(plan.model, plan.group or group, description, classifier=model.jobs[0].reads["classifier"])


def _refuse_other_study(out: Path) -> None:
    if (out / RUN).is_file() and (study := read_record(out)[0].study) != STUDY:
        raise UserError(f"{out}: contains a run of unseen {study}; choose another folder ({option('out')})")


def _forget_replaced(out: Path, jobs: Sequence[Job]) -> None:
    """Remove from a run the jobs that others replace: all jobs of a model that is now another classifier."""
    if not (out / RUN).is_file():
        return
    classifiers = {job.backbone: job.reads["classifier"] for job in jobs}
    keys = {(job.backbone, job.dataset): job.key for job in jobs}
    with folder_lock(out):
        data, before = read_record(out)
        known = {each.name: each.classifier for each in data.backbones}
        kept = [
            each
            for each in data.features
            if classifiers.get(each.backbone, known[each.backbone]) == known[each.backbone]
            and keys.get((each.backbone, each.domain), each.keys[TEST]) == each.keys[TEST]
        ]
        gone = {each.keys[TEST] for each in data.features} - {each.keys[TEST] for each in kept}
        if gone:
            write_run(out, replace(data, features=kept), [key for key in before if key not in gone])


def _nothing_scored(passed_over: Mapping[str, str]) -> str:
    if passed_over:
        model, why = next(iter(passed_over.items()))
        more = f", and {len(passed_over) - 1} more could not be loaded" if len(passed_over) > 1 else ""
        named = why if why.startswith(f"{model}: ") else f"{model}: {why}"
        return f"no model is scored; {named}{more}"
    return f"no model has outputs for all classes of a column, so nothing is scored; {_remedy()}"


def _remedy() -> str:
    outputs = option("outputs")
    return f"map the classes ({option('mapping')}), or define the outputs ({outputs}, or the column classes)"
