"""`unseen shifts pool`: networks trained on parts and mixtures of one or two training sets, as jobs that resume.

Every model is a job (`unseen.studies.shifts.model_pool` chooses its images). A killed job resumes from its last
checkpoint, and on a CPU gives bit-identical weights. `models.csv` beside the trained networks is a table of
models for `unseen run shifts --backbone`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.joined import JoinedImages, joined_images
from unseen.device import on_gpu
from unseen.errors import UserError
from unseen.files import check_writable, remove_unfinished, write_table
from unseen.probes.finetuning.streamed import StreamedImages
from unseen.probes.job import Job
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import choose_executor, spread_or
from unseen.runs.means import ALONE, Means
from unseen.runs.results import RESULTS, missing, read_result, remove_result
from unseen.studies.plan import Plan
from unseen.studies.shifts.keys import EVERY, SENTENCE
from unseen.studies.shifts.model_pool import RATIOS, PoolModel, Setup, mixture_rows, plan_pool
from unseen.studies.shifts.plans import check_templates, templates_in_table
from unseen.studies.shifts.pool_networks import (
    WEIGHTS,
    Kind,
    PoolNetwork,
    classifier_network,
    clip_network,
    clip_texts,
    kind_of_network,
    network_config,
)
from unseen.studies.shifts.recipes import Recipe, protocol_of
from unseen.studies.shifts.training import (
    checkpoint_of,
    image_seconds,
    remove_checkpoints,
    skipped_sentence,
    train_network,
    training_job,
)
from unseen.studies.shifts.training_sets import TrainingSet, refuse_same_sets
from unseen.studies.watch import Silent, Watch

MODELS, CLASSES, NETWORKS = "models.csv", "classes.csv", "networks"


@dataclass(frozen=True)
class PoolTraining:
    """Everything that determines the weights of a model of a pool.

    Attributes:
        setup: its `recipe` is the protocol of the training.
        data: hash of the training sets, their labels and pixels, and of the classes or the sentence.
        size: side of the images; None for the authors' default.
        arithmetic: "float32", or "float16" on a GPU.
    """

    protocol: str
    kind: Kind
    setup: Setup
    data: str
    size: int | None
    arithmetic: str


@dataclass(frozen=True, eq=False)
class PoolRequest:
    """A request to train networks on images.

    Attributes:
        sets: one training set, or two, of which mixtures are used too.
        networks: ids, such as `timm:resnet18`, `torchvision:resnet50`, `openclip:RN50`.
        recipes: training recipe by kind of network.
        shares: λ of mixtures, the share of the first set, by kind of network.
        names: class → its name, for outputs of classifiers and for zero-shot classification; in this order.
        templates: templates of zero-shot prompts, as for `unseen run shifts`.
        workers: processes that decode images.
    """

    sets: Sequence[TrainingSet]
    networks: Sequence[str]
    recipes: Mapping[Kind, Recipe]
    shares: Mapping[Kind, Sequence[float]]
    names: Mapping[str, str]
    ratios: Sequence[float] = (*RATIOS, 1.0)
    size: int | None = None
    seed: int = 0
    sentence: str = SENTENCE
    templates: str = "openai"
    workers: int = 0

    @cached_property
    def models(self) -> list[PoolModel]:
        """The models, each with the protocol of its training."""
        names = [each.name for each in self.sets]
        planned = []
        for network in self.networks:
            kind = kind_of_network(network)
            shares = [1.0, 0.0, *self.shares[kind]] if len(names) > 1 else [1.0]
            planned += plan_pool(
                (names[0], names[-1]), [network], list(dict.fromkeys(shares)), self.recipes[kind], ratios=self.ratios,
                seed=self.seed, both="+".join(names),
            )  # fmt: skip
        found = [
            replace(model, name=self._name(model.setup), setup=self._with_protocol(model.setup)) for model in planned
        ]
        called = [model.name for model in found]
        if len(set(called)) < len(called):
            raise UserError("two networks of a pool have the same name; give each once")
        return found

    def _name(self, setup: Setup) -> str:
        mixture = f" λ={setup.share:g}" if len(self.sets) > 1 else ""
        return f"{_short(setup.network)}{mixture} {100 * setup.ratio:g}%"

    def _with_protocol(self, setup: Setup) -> Setup:
        images = len(self.rows(setup))
        return replace(setup, recipe=protocol_of(kind_of_network(setup.network), setup.network, setup.recipe, images))

    @cached_property
    def images(self) -> JoinedImages:
        """All training images, one set after another."""
        return joined_images({each.name: each.source for each in self.sets})

    @cached_property
    def streamed(self) -> StreamedImages:
        return StreamedImages(self.images, self.workers)

    def rows(self, setup: Setup) -> NDArray[np.int64]:
        """Numbers of the images of all sets that a model is trained on."""
        sizes = [len(each) for each in self.sets]
        parts = mixture_rows(sizes, setup)
        return np.concatenate([part + start for part, start in zip(parts, np.cumsum([0, *sizes[:-1]]), strict=True)])

    @cached_property
    def _content(self) -> str:
        return "; ".join(each.content() for each in self.sets)

    def job(self, model: PoolModel) -> Job:
        """The training of a model."""
        network = model.setup.network
        kind = kind_of_network(network)
        texts = list(self.names) if kind == "classifier" else [self.sentence, dict(self.names)]
        decides = [self._content, texts, network_config(network)]
        data = hashlib.sha256(json.dumps(decides).encode()).hexdigest()
        arithmetic = "float16" if on_gpu() else "float32"
        training = PoolTraining("shi-2023", kind, model.setup, data, self.size, arithmetic)
        return training_job("pool-training", training, network, "+".join(each.name for each in self.sets))

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """The trainings by the names of models."""
        return {model.name: self.job(model) for model in self.models}

    def plan(self, out: Path, means: Means = ALONE) -> Plan:
        """Plan the trainings: which are done, and the estimated time of the others."""
        self.check()
        jobs = self.left(out)
        left = {job.key for job in jobs}
        parts: list[dict[str, str | int | float]] = [
            {
                "model": model.name, "group": model.group, "images": len(self.rows(model.setup)),
                "steps": model.setup.recipe.steps, "batch": model.setup.recipe.batch,
                "to do": "yes" if self.jobs[model.name].key in left else "no",
            }
            for model in self.models
        ]  # fmt: skip
        seconds = self.seconds(jobs) / means.places
        return Plan("A pool of models", parts, len(self.jobs), len(left), probing=seconds)

    def seconds(self, jobs: Sequence[Job]) -> float:
        """Estimated seconds of trainings without decoding, from timing a step of each network."""
        measured = dict[str, float]()
        trainings: list[PoolTraining] = [job.made for job in jobs]
        for each in trainings:
            if each.setup.network not in measured:
                batch = each.setup.recipe.batch
                measured[each.setup.network] = image_seconds(_network(self, each), batch, len(self.images.entries))
        recipes = [(each.setup.network, each.setup.recipe) for each in trainings]
        return sum(float(recipe.steps * recipe.batch) * measured[network] for network, recipe in recipes)

    def check(self) -> None:
        """Refuse an impossible request before any training."""
        if not 1 <= len(self.sets) <= 2:
            raise UserError("a pool needs one training set, or two for mixtures of them")
        refuse_same_sets(self.sets)
        captioned = next((each.name for each in self.sets if each.captioned), None)
        classifier = next((name for name in self.networks if kind_of_network(name) == "classifier"), None)
        if captioned is not None and classifier is not None:
            raise UserError(f"{captioned} has captions, which {classifier} cannot be trained on; give openclip:NAME")
        unknown = {label for each in self.sets for label in each.classes} - set(self.names)
        if unknown:
            raise UserError(
                f"{len(unknown):,} classes of the training images are not among those of the models, such as "
                f"{min(unknown)}; give a list that has them (classes)"
            )
        clip = next((name for name in self.networks if kind_of_network(name) == "clip"), None)
        if clip is not None:
            check_templates(clip, self.templates)
        if classifier is not None and len(self.names) < 2:
            raise UserError("a classifier needs images of at least two classes")

    def left(self, out: Path) -> list[Job]:
        """The jobs without a result, or without the weights of their network."""
        jobs = list(self.jobs.values())
        left = {job.key for job in missing(jobs, out / RESULTS)}
        return [job for job in jobs if job.key in left or _lost(out, job)]


def train_pool(
    request: PoolRequest, out: Path, *, means: Means = ALONE, watch: Watch | None = None, every: int = EVERY
) -> Path:
    """Run the missing trainings in a folder, write the table of all models, and return its path.

    Args:
        means: with several `devices`, several models are trained at the same time.
        every: steps between checkpoints.
    """
    told = watch or Silent()
    check_writable(out)
    request.check()
    remove_unfinished(out)
    for sentence in (sentence for each in request.sets for sentence in each.notes):
        told.tell(sentence)
    for job in request.left(out):
        remove_result(out / RESULTS, job.key)
    jobs = list(request.jobs.values())
    remove_checkpoints(out, jobs)
    work = OneByOne(_Training(request, out, every, None if means.spread else told))
    here = choose_executor(Means())
    left = len(missing(jobs, out / RESULTS))
    if left:
        told.started(left, len(jobs), request.seconds(missing(jobs, out / RESULTS)) / means.places)
    for job in told.track(execute(jobs, out / RESULTS, work, spread_or(means, here)), "models trained", left):
        remove_checkpoints(out, [job])
    return _write_models(request, out, told)


@dataclass(frozen=True)
class _Training:
    """Trains the network of a job and stores it."""

    request: PoolRequest
    out: Path
    every: int
    watch: Watch | None

    def __call__(self, job: Job) -> dict[str, Any]:
        request, training, key = self.request, cast("PoolTraining", job.made), job.key
        setup = training.setup
        show = (self.watch or Silent()).stepping(
            f"{setup.network} λ={setup.share:g} {setup.ratio:.0%}", setup.recipe.steps
        )
        rows, network = request.rows(setup), _network(request, training)
        return train_network(
            network, request.streamed, rows, setup.recipe, _file(self.out, job), checkpoint_of(self.out, key),
            identity=key, seed=setup.seed, every=self.every, watch=show,
        )  # fmt: skip


def _network(request: PoolRequest, training: PoolTraining) -> PoolNetwork:
    labels = [entry.label for entry in request.images.entries]
    if training.kind == "classifier":
        network, names, seed = training.setup.network, list(request.names), training.setup.seed
        return classifier_network(network, names, labels, size=training.size, seed=seed)
    captioned = [each.captioned for each in request.sets for _ in range(len(each))]
    texts = clip_texts(labels, captioned, request.names, request.sentence)
    return clip_network(training.setup.network, texts, size=training.size, seed=training.setup.seed)


def _file(out: Path, job: Job) -> Path:
    """The path of a trained network: `resnet18-0.5-0.2-KEY`, with λ, the ratio and the beginning of the job's key."""
    setup, kind = job.made.setup, job.made.kind
    name = f"{_short(setup.network)}-{setup.share:g}-{setup.ratio:g}-{job.key[:10]}"
    return out / NETWORKS / (name if kind == "clip" else f"{name}.safetensors")


def _short(network: str) -> str:
    """The name of a network without its source and folders."""
    return Path(network.partition(":")[2]).name


def _lost(out: Path, job: Job) -> bool:
    """Whether the weights of a finished job are missing."""
    result = read_result(out / RESULTS, job.key)
    weights = _file(out, job) / WEIGHTS if job.made.kind == "clip" else _file(out, job)
    return result is not None and bool(result.values["finished"]) and not weights.is_file()


def _write_models(request: PoolRequest, out: Path, watch: Watch) -> Path:
    """Write `models.csv` and `classes.csv`; models with diverged trainings are left out and named."""
    write_table(out / CLASSES, ["class", "name"], ([label, name] for label, name in request.names.items()))
    rows = []
    for model in request.models:
        job = request.jobs[model.name]
        result = read_result(out / RESULTS, job.key)
        if result is None or not result.values["finished"]:
            why = "its training diverged; use a smaller rate" if result else "it has no result yet"
            watch.tell(f"{model.name} is left out: {why}")
            continue
        for sentence in skipped_sentence(model.name, result.values, model.setup.recipe.steps):
            watch.tell(sentence)
        place = _file(out, job).relative_to(out).as_posix()
        if job.made.kind == "clip":
            templates = templates_in_table(request.templates)
            what = [f"openclip:{place}", model.group, "zero-shot", "", CLASSES, templates, ""]
        else:
            what = [model.setup.network, model.group, "own", place, CLASSES, "", str(request.size or "")]
        rows.append([model.name, *what])
    header = ["model", "backbone", "group", "head", "checkpoint", "classes", "templates", "size"]
    write_table(out / MODELS, header, iter(rows))
    return out / MODELS
