"""Accuracies and predictions of models on test sets.

Logits are computed once per model and test set and stored. Accuracies on any choice of classes are computed from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.logits import Logits, read_logits
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.metrics.class_subset import label_class
from unseen.probes.by_name.classifier import Classifier, Outputs
from unseen.probes.job import Job, fits_kept
from unseen.probes.protocol import Setting
from unseen.probes.units import ScoredImages
from unseen.runs.flaws import MOST_EXAMPLES
from unseen.runs.lock import folder_lock
from unseen.runs.means import ALONE
from unseen.runs.record import RUN, read_record
from unseen.runs.results import RESULTS, read_all
from unseen.studies.shifts.accuracies import add_results, check_columns, has_row
from unseen.studies.shifts.columns import Column
from unseen.studies.shifts.plans import load_model
from unseen.studies.shifts.predictions import FOLDER as PREDICTIONS
from unseen.studies.shifts.predictions import Classes, add_predictions, predictions
from unseen.studies.shifts.survey import Part, Survey, Surveyed, logit_finder
from unseen.studies.watch import Watch

OUTPUTS = "outputs"
"""What the record of a run has for classifiers instead of features of a split."""


@dataclass(eq=False)
class Evaluation:
    """Computes jobs: the logits of a model on a test set, then an accuracy for each choice of classes.

    Predictions are written before their results, and the tables after them, so the next call completes whatever a kill
    has left out.
    """

    survey: Survey
    columns: Sequence[Column]
    settings: Settings
    folder: Path
    watch: Watch
    _loaded: dict[str, Backbone] = field(default_factory=dict)
    _damaged: dict[str, int] = field(default_factory=dict)

    def __call__(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        wanted = set(jobs)
        for model in self.survey.models:
            for part in model.parts:
                own = [job for job in part.jobs if job in wanted]
                if own:
                    yield from self._scored(model, part, own)
                    write_tables(self.folder, self.watch, model.plan.model)

    def _scored(self, model: Surveyed, part: Part, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        logits, name = self._logits(model, part), model.plan.model
        by_name = {column.name: column for column in self.columns}
        made = {job.dataset: predictions(logits, by_name[job.dataset]) for job in jobs}
        columns = [by_name[job.dataset] for job in jobs]
        with folder_lock(self.folder):
            check_columns(self.folder, columns, {column: len(truth) for column, (_, truth) in made.items()})
            same = has_row(self.folder, name, jobs[0].reads["classifier"])
            add_predictions(self.folder / PREDICTIONS, name, made, keep=same)
        for job, column in zip(jobs, columns, strict=True):
            yield job, _values(logits, column, *made[job.dataset], str(job.settings["test_set"]))

    def _logits(self, model: Surveyed, part: Part) -> Logits:
        finished = (part.store / MANIFEST).is_file()
        logits = read_logits(part.store) if finished else None
        # These logits may have been computed without damaged images; a call that allows none is refused below.
        if logits is None or (logits.damaged and self.settings.on_error == "fail"):
            finder = logit_finder([part.images], self._model(model), self.settings, self.folder)
            finder.extracted(ALONE, lambda name, _: self.watch.extracting(model.plan.model, name))
            logits = read_logits(part.store)
        self._tell_damaged(part.images.name, logits)
        return logits

    def _model(self, model: Surveyed) -> Backbone:
        """The model, which stays loaded until another is needed."""
        name = model.plan.model
        if name not in self._loaded:
            self._loaded.clear()
            loaded = model.loaded or load_model(model.plan, self.settings.device)
            if loaded.spec != model.spec:
                raise UserError(f"{name}: its weights have changed since the study began; run the command again")
            self._loaded[name] = loaded
        return self._loaded[name]

    def _tell_damaged(self, test_set: str, logits: Logits) -> None:
        """Report the number of skipped images of a test set once, and again if another model skips others."""
        if logits.damaged != self._damaged.get(test_set, 0):
            self._damaged[test_set] = logits.damaged
            total = len(logits) + logits.damaged
            self.watch.tell(f"{test_set}: {logits.damaged:,} of {total:,} images are damaged and were left out")


def _values(logits: Logits, column: Column, guess: Classes, truth: Classes, test_set: str) -> dict[str, Any]:
    details: dict[str, Any] = {"test_set": test_set, "classes": len(column.kept)}
    details |= {"damaged": logits.damaged, "of": len(logits) + logits.damaged}
    details |= {"examples": list(logits.examples[:MOST_EXAMPLES])} if logits.damaged else {}
    outputs = Outputs(guess, truth, details, _images(logits, column, truth))
    return fits_kept([*Classifier().fit(outputs, [Setting()])])


def _images(logits: Logits, column: Column, truth: Classes) -> ScoredImages:
    """The images of a column, whose labels belong to its classes."""
    kept = {label for label in logits.labels if label_class(label, column.classes) in {*column.kept}}
    names = [name for name, label in zip(logits.ids, logits.image_labels, strict=False) if label in kept]
    return ScoredImages.labelled(column.kept, truth, names)


def write_tables(folder: Path, watch: Watch, model: str | None = None) -> None:
    """Update the tables of a folder with the results of its run, or of one of its models.

    A run is recorded with its first result, by the process that started it, which then writes the tables of all results
    so far. Other processes may have results before that.
    """
    with folder_lock(folder):
        if not (folder / RUN).is_file():
            return
        data, _ = read_record(folder)
        own = [each for each in data.features if model in {None, each.backbone}]
        keys = [each.keys[OUTPUTS] for each in own if OUTPUTS in each.keys]
        replaced = add_results(folder, data, read_all(folder / RESULTS, keys))
    for name, columns in replaced.items():
        watch.tell(
            f"{name}: replaces a row of that name, which had other accuracies on {columns[0]}"
            + (f" and {len(columns) - 1} more" if len(columns) > 1 else "")
        )
