"""The work to do for models on test sets: the jobs, and the missing logits.

A classifier must be loaded to be identified. Each is loaded once for that and released, so that a study can have more
models than fit into memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.classifier import ClassifierSpec, classifier_digest
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.features.extract import store_key
from unseen.features.fingerprint import fingerprint
from unseen.features.logits import logit_backbone, logit_settings
from unseen.features.plan import plan
from unseen.features.settings import Settings
from unseen.metrics.class_subset import lacking_classes
from unseen.probes.by_name.classifier import PROTOCOL, Classifier
from unseen.probes.job import Job
from unseen.runs.extraction import Pass
from unseen.runs.results import RESULTS, missing
from unseen.studies.finder import Finder
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


@dataclass(frozen=True, eq=False)
class Surveyor:
    """Finds the work to do for models on test sets, in the folder of a run."""

    images: Sequence[TestImages]
    columns: Sequence[Column]
    settings: Settings
    folder: Path

    def survey(self, plans: Sequence[ModelPlan]) -> Survey:
        """Load each model once to identify it, and find its results in the folder."""
        models, passed_over = list[Surveyed](), dict[str, str]()
        for each in plans:
            try:
                loaded = load_model(each, self.settings.device)
            except UserError as error:
                passed_over[each.model] = str(error)
                continue
            # A single model is kept for the work; several are loaded again, one after another.
            models.append(self._model(each, loaded, keep=len(plans) == 1))
        return Survey(tuple(models), passed_over)

    def _model(self, each: ModelPlan, loaded: Backbone, *, keep: bool) -> Surveyed:
        spec = loaded.spec
        outputs = spec.classes if isinstance(spec, ClassifierSpec) else ()
        columns = [each for each in self.columns if not lacking_classes(outputs, each.kept, each.classes)]
        tested = {column.test_set for column in columns}
        scored = [images for images in self.images if images.name in tested]
        lacking = tuple(images.name for images in self.images if images.name not in tested)
        parts = tuple(self._parts(each.model, loaded, scored, columns)) if scored else ()
        return Surveyed(each, spec, tuple(loaded.notes), parts, lacking, loaded if keep else None)

    def _parts(
        self, model: str, classifier: Backbone, scored: Sequence[TestImages], columns: Sequence[Column]
    ) -> Iterator[Part]:
        """A classifier on each test set; one measurement gives the seconds for all of them."""
        spec, finder = classifier.spec, logit_finder(scored, classifier, self.settings, self.folder)
        jobs = {
            images.name: _jobs(model, spec, images, [each for each in columns if each.test_set == images.name], finder)
            for images in scored
        }
        undone = {name: len(missing(own, self.folder / RESULTS)) for name, own in jobs.items()}
        left = {name: finder.of(name).missing()[0] if undone[name] else 0 for name in jobs}
        rows, stores = sum(left.values()), finder.stores()
        seconds = finder.seconds([rows]) / max(rows, 1)
        for images in scored:
            name = images.name
            scoring = undone[name] * len(images) * spec.dimension / SCORED
            store, [size] = stores[name][0][images.split], finder.bytes([left[name]])
            yield Part(images, store, jobs[name], left[name], size, left[name] * seconds, scoring)


def logit_finder(images: Sequence[TestImages], classifier: Backbone, settings: Settings, folder: Path) -> Finder:
    """Finds the logits of a classifier on some test sets in the folder of a run."""
    passes = [Pass(each.opened.source, each.opened.manifest, each.split, folder / LOGITS, each.name) for each in images]
    return Finder(passes, [logit_backbone(classifier)], logit_settings(settings))


def _jobs(model: str, spec: Spec, images: TestImages, columns: Sequence[Column], finder: Finder) -> tuple[Job, ...]:
    opened, settings = images.opened, finder.settings
    key = store_key(opened.source, opened.manifest, images.split, spec, settings)
    digest = classifier_digest(spec) if isinstance(spec, ClassifierSpec) else ""
    return tuple(
        Classifier().column_job(
            model,
            column.name,
            {"classifier": digest, "outputs": key, "classes": column.digest},
            {"protocol": PROTOCOL, "test_set": images.name, "on_error": settings.on_error},
        )
        for column in columns
    )
