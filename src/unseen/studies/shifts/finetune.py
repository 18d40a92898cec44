"""`unseen shifts finetune`: fine-tuning of a zero-shot classifier, starting from its zero-shot head.

Shi et al. (2023, appendix B.1) fine-tune CLIP models on ImageNet for 50,000 steps at learning rates of 3e-5 and 1e-4.
The other settings are those of WiSE-FT (Wortsman et al. 2022): AdamW with weight decay 0.1, batches of 512, 500 warm-up
steps followed by a cosine schedule, gradients clipped to length 1. The image tower and the class embeddings are
trained; the text tower is not needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.device import on_gpu
from unseen.errors import UserError, did_you_mean, names_of
from unseen.files import check_writable, remove_unfinished, write_table
from unseen.probes.finetuning.protocol import AdamWProtocol
from unseen.probes.finetuning.streamed import StreamedImages
from unseen.probes.job import Job
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import choose_executor, spread_or
from unseen.runs.means import ALONE, Means
from unseen.runs.results import RESULTS, missing, read_result, remove_result
from unseen.studies.plan import Plan
from unseen.studies.shifts.keys import BATCH, EVERY, RATES, STEPS
from unseen.studies.shifts.plans import (
    ZERO_SHOT,
    ModelPlan,
    check_plan,
    class_names,
    load_model,
    templates_in_table,
)
from unseen.studies.shifts.pool_networks import PoolNetwork, trained_classifier
from unseen.studies.shifts.training import (
    checkpoint_of,
    image_seconds,
    remove_checkpoints,
    skipped_sentence,
    train_network,
    training_job,
)
from unseen.studies.shifts.training_sets import TrainingSet
from unseen.studies.watch import Silent, Watch

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone

WARMUP, DECAY = 500, 0.1
ZERO, MODELS, CLASSES = "zero-shot.safetensors", "models.csv", "classes.csv"


@dataclass(frozen=True)
class ZeroShotTraining:
    """Everything that determines the weights of a fine-tuned classifier.

    Attributes:
        classifier: digest of the zero-shot classifier that training starts from.
        images: hash of ids, labels and pixels of the training images.
        arithmetic: "float32", or "float16" on a GPU.
    """

    name: str
    protocol: AdamWProtocol
    backbone: str
    classifier: str
    images: str
    seed: int
    arithmetic: str


@dataclass(frozen=True, eq=False)
class FinetuneRequest:
    """A request to fine-tune a zero-shot classifier on images, at several learning rates.

    Attributes:
        plan: the classifier, with a zero-shot head.
        workers: processes that decode images.
    """

    plan: ModelPlan
    data: TrainingSet
    rates: Sequence[float] = RATES
    steps: int = STEPS
    batch: int = BATCH
    seed: int = 0
    workers: int = 0

    @cached_property
    def streamed(self) -> StreamedImages:
        return StreamedImages(self.data.source, self.workers)

    @cached_property
    def _digest(self) -> str:
        from unseen.backbones.classifier import ClassifierSpec, classifier_digest

        spec = self.zero_shot().spec
        return classifier_digest(spec) if isinstance(spec, ClassifierSpec) else spec.digest

    def zero_shot(self) -> "Backbone":
        """The classifier before fine-tuning."""
        return load_model(self.plan, "cpu")

    def protocol(self, rate: float) -> AdamWProtocol:
        """The training protocol for a learning rate."""
        batch, warmup = min(self.batch, len(self.data)), min(WARMUP, self.steps // 10)
        return AdamWProtocol(
            "shi-2023-finetune", self.steps, batch, rate, DECAY, warmup=warmup, augment="large-crop", clip=1.0
        )

    @cached_property
    def jobs(self) -> dict[float, Job]:
        """The jobs by learning rate."""
        content, arithmetic = self.data.content(), "float16" if on_gpu() else "float32"
        return {
            rate: training_job(
                "zero-shot-training",
                ZeroShotTraining(
                    "shi-2023", self.protocol(rate), self.plan.backbone, self._digest, content, self.seed, arithmetic
                ),
                self.plan.backbone,
                self.data.name,
            )
            for rate in self.rates
        }

    def check(self) -> None:
        """Refuse an impossible request before any training."""
        check_plan(self.plan)
        if self.plan.head != ZERO_SHOT:
            raise UserError(f"{self.plan.backbone}: fine-tuning needs a zero-shot head, not '{self.plan.head}'")
        if not self.rates or min(self.rates) <= 0 or len(set(self.rates)) < len(self.rates):
            raise UserError("fine-tuning needs learning rates above 0, each once (rates)")
        if self.data.captioned:
            raise UserError(f"{self.data.name}: fine-tuning needs images with classes, not with captions")
        known = class_names(self.plan)
        odd = [label for label in self.data.classes if label not in known]
        if odd:
            raise UserError(
                f"{self.data.name}: the classifier has no outputs for {len(odd):,} of its classes: "
                f"{names_of(odd)}{did_you_mean(odd[0], known)}; say which classes its outputs are (outputs)"
            )

    def plan_training(self, out: Path, means: Means = ALONE) -> Plan:
        """Plan the trainings: which are done, and the estimated time of the others."""
        self.check()
        left = {job.key for job in missing(list(self.jobs.values()), out / RESULTS)}
        parts: list[dict[str, str | int | float]] = [
            {
                "rate": f"{rate:g}", "images": len(self.data), "steps": job.made.protocol.steps,
                "batch": job.made.protocol.batch, "to do": "yes" if job.key in left else "no",
            }
            for rate, job in self.jobs.items()
        ]  # fmt: skip
        seconds = self.seconds(len(left)) / means.places
        return Plan(f"Fine-tuning {self.plan.backbone}", parts, len(self.jobs), len(left), probing=seconds)

    def seconds(self, trainings: int) -> float:
        """Estimated seconds of trainings without decoding, from timing a step."""
        if not trainings:
            return 0.0
        protocol = self.protocol(self.rates[0])
        each = image_seconds(_network(self), protocol.batch, len(self.data))
        return trainings * protocol.steps * protocol.batch * each


def finetune_zero_shot(
    request: FinetuneRequest, out: Path, *, means: Means = ALONE, watch: Watch | None = None, every: int = EVERY
) -> Path:
    """Run the missing trainings at all rates in a folder, write the table of classifiers, and return its path.

    The folder has the classifier before (`zero-shot.safetensors`) and after fine-tuning (`rate-3e-05.safetensors`),
    which `unseen shifts interpolate` interpolates between.
    """
    from unseen.backbones.wise_ft import write_state

    told = watch or Silent()
    check_writable(out)
    request.check()
    remove_unfinished(out)
    for sentence in request.data.notes:
        told.tell(sentence)
    jobs = list(request.jobs.values())
    for job in jobs:
        _refuse_other(out, job)
        if not _file(out, job).is_file():  # without its weights, the training is repeated
            remove_result(out / RESULTS, job.key)
    remove_checkpoints(out, jobs)
    write_state(out / ZERO, request.zero_shot().module.state_dict())
    work = OneByOne(_Training(request, out, every, None if means.spread else told))
    left, executor = len(missing(jobs, out / RESULTS)), spread_or(means, choose_executor(Means()))
    if left:
        told.started(left, len(jobs), request.seconds(left) / means.places)
    for job in told.track(execute(jobs, out / RESULTS, work, executor), "learning rates done", left):
        remove_checkpoints(out, [job])
    for rate, job in request.jobs.items():
        result = read_result(out / RESULTS, job.key)
        for sentence in skipped_sentence(f"rate {rate:g}", result.values, job.made.protocol.steps) if result else ():
            told.tell(sentence)
    return _write_models(request, out)


@dataclass(frozen=True)
class _Training:
    """Fine-tunes the classifier of a job and stores it."""

    request: FinetuneRequest
    out: Path
    every: int
    watch: Watch | None

    def __call__(self, job: Job) -> dict[str, Any]:
        training: ZeroShotTraining = job.made
        protocol, key = training.protocol, job.key
        rate = protocol.rate
        show = (self.watch or Silent()).stepping(f"rate {rate:g}", protocol.steps)
        rows = np.arange(len(self.request.data), dtype=np.int64)
        values = train_network(
            _network(self.request), self.request.streamed, rows, protocol, _file(self.out, job),
            checkpoint_of(self.out, key), identity=key, seed=training.seed, every=self.every, watch=show,
        )  # fmt: skip
        if not values["finished"]:
            raise UserError(f"{job.backbone}: fine-tuning diverged at rate {rate:g}; use smaller rates")
        return values


def _network(request: FinetuneRequest) -> PoolNetwork:
    labels = [entry.label for entry in request.data.source.entries]
    return trained_classifier(request.zero_shot(), list(class_names(request.plan)), labels)


def _file(out: Path, job: Job) -> Path:
    return out / f"rate-{job.made.protocol.rate:g}.safetensors"


def _refuse_other(out: Path, job: Job) -> None:
    """Refuse a folder that has a classifier of another fine-tuning at this rate."""
    key = job.key
    mine = read_result(out / RESULTS, key) is not None or checkpoint_of(out, key).is_file()
    if _file(out, job).is_file() and not mine:
        raise UserError(
            f"{_file(out, job)}: from another fine-tuning (other images, steps or classes, or another model); choose "
            "another folder (--out)"
        )


def _write_models(request: FinetuneRequest, out: Path) -> Path:
    """Write `models.csv`, a table of models for `unseen run shifts`, and the file of classes that it names."""
    plan = request.plan
    write_table(out / CLASSES, ["class", "name"], ([label, name] for label, name in class_names(plan).items()))
    source, _, place = plan.backbone.partition(":")
    backbone = f"{source}:{Path(place).absolute()}" if Path(place).is_dir() else plan.backbone
    called = Path(place).name
    ends = [(f"{called} zero-shot", "zero-shot", ZERO)]
    ends += [
        (f"{called} fine-tuned {rate:g}", "fine-tuned", _file(out, job).name) for rate, job in request.jobs.items()
    ]
    header = ["model", "backbone", "group", "head", "checkpoint", "classes", "templates", "weights", "size"]
    rows = (
        [model, backbone, group, ZERO_SHOT, file, CLASSES, templates_in_table(plan.templates), plan.weights,
         str(plan.size or "")]
        for model, group, file in ends
    )  # fmt: skip
    write_table(out / MODELS, header, rows)
    return out / MODELS
