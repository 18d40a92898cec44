"""The work to do for models on test sets: the jobs, and the missing logits.

A classifier must be loaded to be identified. Each is loaded once for that and released, so that a study can have more
models than fit into memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.classifier import ClassifierSpec, classifier_digest
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.features.disk import feature_bytes, remaining_rows
from unseen.features.extract import decided_key, store_name
from unseen.features.fingerprint import fingerprint
from unseen.features.logits import logit_settings
from unseen.features.plan import plan
from unseen.features.settings import Settings
from unseen.features.speed import seconds_per_image
from unseen.metrics.class_subset import lacking_classes
from unseen.probes.by_name.classifier import PROTOCOL, Classifier
from unseen.probes.job import Job
from unseen.runs.results import RESULTS, missing
from unseen.studies.shifts.columns import Column
from unseen.studies.shifts.plans import ModelPlan, load_model

LOGITS = "logits"
SCORED = 2e7
"""Logits that are read and scored per second."""


@dataclass(frozen=True, eq=False)
class TestImages:
    """The images of a test set."""

    __test__ = False  # tells pytest that this is not a test

    opened: OpenDataset

    @property
    def name(self) -> str:
        return self.opened.dataset.name

    @property
    def split(self) -> str:
        return self.opened.dataset.split

    def __len__(self) -> int:
        return len(self.opened.manifest)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(sorted({entry.label for entry in self.opened.manifest.entries}))

    @cached_property
    def shown(self) -> str:
        """The fingerprint of the pixels of the images."""
        rows = plan(self.opened.source, self.opened.manifest, self.split, len(self))
        return fingerprint(self.opened.source, rows.numbers)

    def logits_key(self, spec: Spec, settings: Settings) -> str:
        """A key of everything that determines a model's logits."""
        decides = logit_settings(settings).decides(spec, self.opened.manifest.content_hash, self.split, self.shown)
        return decided_key(decides)


@dataclass(frozen=True)
class Part:
    """A model on a test set.

    Attributes:
        left, bytes, seconds: number of images without logits, bytes of these logits, and their estimated seconds.
        scoring: estimated seconds of the jobs without a result.
    """

    images: TestImages
    store: Path
    jobs: tuple[Job, ...]
    left: int = 0
    bytes: int = 0
    seconds: float = 0.0
    scoring: float = 0.0


@dataclass(frozen=True)
class Surveyed:
    """A model that can be loaded, and the test sets for which it has outputs; `lacking` names the others."""

    plan: ModelPlan
    spec: Spec
    notes: tuple[str, ...]
    parts: tuple[Part, ...]
    lacking: tuple[str, ...]
    loaded: Backbone | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The state without the model, which other processes load by themselves."""
        return self.__dict__ | {"loaded": None}

    @property
    def jobs(self) -> list[Job]:
        return [job for part in self.parts for job in part.jobs]


@dataclass(frozen=True)
class Survey:
    """The models of a study; `passed_over`: model → why it could not be loaded."""

    models: tuple[Surveyed, ...]
    passed_over: dict[str, str]

    @property
    def jobs(self) -> list[Job]:
        return [job for model in self.models for job in model.jobs]


def survey_models(
    plans: Sequence[ModelPlan],
    images: Sequence[TestImages],
    columns: Sequence[Column],
    settings: Settings,
    folder: Path,
) -> Survey:
    """Load each model once to identify it, and find its results in the folder."""
    models, passed_over = list[Surveyed](), dict[str, str]()
    for each in plans:
        try:
            loaded = load_model(each, settings.device)
        except UserError as error:
            passed_over[each.model] = str(error)
            continue
        # A single model is kept for the work; several are loaded again, one after another.
        models.append(_survey(each, loaded, images, columns, settings, folder, keep=len(plans) == 1))
    return Survey(tuple(models), passed_over)


def _survey(
    each: ModelPlan,
    loaded: Backbone,
    images: Sequence[TestImages],
    columns: Sequence[Column],
    settings: Settings,
    folder: Path,
    *,
    keep: bool,
) -> Surveyed:
    spec = loaded.spec
    outputs = spec.classes if isinstance(spec, ClassifierSpec) else ()
    parts, lacking = list[Part](), list[str]()
    speed: tuple[float, float] | None = None
    for found in images:
        scored = [
            column
            for column in columns
            if column.test_set == found.name and not lacking_classes(outputs, column.kept, column.classes)
        ]
        if not scored:
            lacking.append(found.name)
            continue
        part = _part(each.model, spec, found, scored, settings, folder)
        if left := missing(part.jobs, folder / RESULTS):
            rows = _remaining(found, spec, settings, folder)
            if rows and speed is None:
                measured = seconds_per_image(found.opened.source, [loaded], settings)
                speed = measured.decode / max(settings.workers, 1), measured.compute[0]
            part = Part(
                found, part.store, part.jobs, rows, feature_bytes(rows, spec.dimension, logit_settings(settings)),
                _seconds(rows, speed, settings), len(left) * len(found) * spec.dimension / SCORED,
            )  # fmt: skip
        parts.append(part)
    return Surveyed(each, spec, tuple(loaded.notes), tuple(parts), tuple(lacking), loaded if keep else None)


def _part(
    model: str, spec: Spec, images: TestImages, columns: Sequence[Column], settings: Settings, folder: Path
) -> Part:
    key = images.logits_key(spec, settings)
    digest = classifier_digest(spec) if isinstance(spec, ClassifierSpec) else ""
    jobs = tuple(
        Classifier().column_job(
            model,
            column.name,
            {"classifier": digest, "outputs": key, "classes": column.digest},
            {"protocol": PROTOCOL, "test_set": images.name, "on_error": settings.on_error},
        )
        for column in columns
    )
    return Part(images, folder / LOGITS / store_name(spec, images.split, key), jobs)


def _remaining(images: TestImages, spec: Spec, settings: Settings, folder: Path) -> int:
    opened = images.opened
    place, how = folder / LOGITS, logit_settings(settings)
    return remaining_rows(opened.source, opened.manifest, images.split, [spec], place, how)[0]


def _seconds(rows: int, speed: tuple[float, float] | None, settings: Settings) -> float:
    """Estimated seconds: a CPU decodes and computes with the same cores, a GPU computes while the CPU decodes."""
    if speed is None:
        return 0.0
    return rows * (sum(speed) if settings.device == "cpu" else max(speed))
