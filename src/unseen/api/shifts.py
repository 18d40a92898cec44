"""`unseen.shifts` and `unseen.effective_robustness`: accuracies under distribution shifts, and effective robustness."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unseen.api.run import Run
from unseen.errors import UserError, did_you_mean
from unseen.extras import naming_extras
from unseen.metrics.robustness import PAPER
from unseen.studies.shifts.study import ShiftSettings, ShiftStudy, study_shifts
from unseen.studies.shifts.table import FitOn, read_accuracies, shift_table
from unseen.studies.shifts.units import Unit

if TYPE_CHECKING:
    import pandas as pd

    from unseen.features.settings import Precision
    from unseen.images.own.own_data import OwnData
    from unseen.metrics.robustness import Method
    from unseen.report.core.model import Figure
    from unseen.studies.shifts.plans import ModelPlan
    from unseen.studies.study import Plan

NAMED = 5
"""Number of models that a plot labels: those farthest from the fitted line."""


@dataclass(frozen=True, repr=False)
class Robustness(ShiftStudy):
    """The result of `unseen.effective_robustness`: one fit per OOD test set, with tables and a plot."""

    def groups(self) -> "pd.DataFrame":
        """Effective robustness of groups of models, in percentage points.

        One row per combination of ID test sets (`id`), OOD test set and group, with the number of models, the mean and
        standard deviation of ρ, and the MAE. Rows with the OOD test set `(average)` average over OOD test sets for each
        model that has all of them, and then over models.
        """
        import pandas as pd

        from unseen.studies.shifts.groups import group_scores

        rows = [{"id": " + ".join(score.id_sets), **asdict(score)} for score in group_scores(self)]
        return pd.DataFrame(rows).drop(columns="id_sets")

    def plot(self, ood: str | None = None) -> "Figure":
        """Plot accuracy on an OOD test set against the accuracy expected from the ID test sets.

        The height above the line is the effective robustness of a model.

        Args:
            ood: the OOD test set; by default the first.

        Returns:
            A figure, which a notebook displays and `.save("robustness.svg")` writes to a file.
        """
        from unseen.report.core.looks import GREY, level_colour
        from unseen.report.core.model import Figure, Series

        names = [fit.ood for fit in self.fits]
        chosen = ood or names[0]
        if chosen not in names:
            raise UserError(
                f"no OOD test set '{chosen}'{did_you_mean(chosen, names) or '; choose from ' + ', '.join(names)}"
            )
        scores = self.fits[names.index(chosen)].scores
        farthest = sorted(scores, key=lambda score: -abs(score.rho))[:NAMED]
        groups = list(dict.fromkeys(score.group for score in scores))
        ends = [min(score.expected for score in scores), max(score.expected for score in scores)]
        series = [Series("as expected", ends, ends, GREY, mode="lines")]
        for number, name in enumerate(groups, 1):
            own = [score for score in scores if score.group == name]
            series.append(
                Series(
                    name, [score.expected for score in own], [score.accuracy for score in own], level_colour(number),
                    strong=len(groups) > 1, mode="markers",
                    labels=[score.model if score in farthest else "" for score in own],
                    hover=[f"{score.model} ({score.group}): ρ {score.rho:+.4f}" for score in own],
                )
            )  # fmt: skip
        return Figure(
            title=f"Effective robustness on {chosen}",
            caption=f"{len(scores)} models; the {len(farthest)} farthest from the line are labelled",
            x_label=f"accuracy expected from {' and '.join(self.table.id_sets)}",
            y_label=f"accuracy on {chosen}",
            series=tuple(series),
        )


def effective_robustness(
    table: "pd.DataFrame | str | PathLike[str]",
    id: str | Sequence[str] | Mapping[str, str | Sequence[str]],  # noqa: A002  (the field's own term)
    ood: str | Sequence[str] | None = None,
    *,
    fit_on: FitOn = None,
    group: str | None = None,
    model: str = "model",
    unit: Unit | None = None,
    method: "Method | None" = None,
    minimum: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Robustness:
    """Effective robustness of models: OOD accuracy beyond what is expected from ID accuracy.

    For each OOD test set, logit(OOD accuracy) is fitted linearly to the logits of the ID accuracies over all models.
    The effective robustness of a model is ρ = OOD accuracy − expected accuracy (Shi et al. 2023; with one ID test set
    Taori et al. 2020).

    Args:
        table: one row per model, one column per test set, in percent or as fractions; or a CSV file of it.
        id: columns of the ID test sets, one or several. If the ID accuracies differ between OOD test sets because they
            are computed on the classes of each, a mapping from OOD test set to its ID columns, equally many for each
            and in the same order.
        ood: columns of the OOD test sets, one or several; by default the keys of `id`.
        fit_on: the models of the fit, as an expression (`"group in {a, b}"`) or a function of the table; all other
            models are scored but not fitted. By default all.
        group: column with groups of models, for group means and leave-one-group-out fits.
        model: column with the names of the models.
        unit: "percent" or "fraction"; by default it is detected.
        method: method of the fit; by default that of the paper, least squares on logits.
        minimum: lowest ID accuracy that a model needs to be included, by ID test set.
        sizes: number of images of each test set; required to use accuracies of exactly 0 or 1.
        resamples: number of bootstrap resamples of the models.
        seed: seed of the bootstrap.
        level: coverage of the intervals.

    Returns:
        A study with one fit per OOD test set, with `.to_frame()`, `.groups()` and `.plot()`.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({
        ...     "model": ["A", "B", "C", "D", "CLIP"],
        ...     "imagenet": [60.0, 65.0, 70.0, 75.0, 68.0],
        ...     "sketch": [20.0, 24.5, 29.0, 35.0, 48.0],
        ... })
        >>> study = unseen.effective_robustness(table, id="imagenet", ood="sketch", fit_on="model != CLIP")
        >>> study.to_frame()[["model", "accuracy", "expected", "rho"]].round(3)
          model  accuracy  expected    rho
        0     A     0.200     0.202 -0.002
        1     B     0.245     0.242  0.003
        2     C     0.290     0.291 -0.001
        3     D     0.350     0.351 -0.001
        4  CLIP     0.480     0.270  0.210
    """
    own = {name: _listed(columns) for name, columns in id.items()} if isinstance(id, Mapping) else {}
    rows = read_accuracies(Path(table)) if isinstance(table, str | PathLike) else table
    checked = shift_table(
        rows, [] if isinstance(id, Mapping) else _listed(id), list(own) if ood is None else _listed(ood), id_for=own,
        model=model, group=group, fit_on=fit_on, unit=unit,
    )  # fmt: skip
    settings = ShiftSettings(method or PAPER, minimum or {}, sizes or {}, resamples, seed, level)
    study = study_shifts(checked, settings)
    return Robustness(study.table, study.settings, study.fits)


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


@naming_extras()
def shifts(
    models: "str | PathLike[str] | ModelPlan | Sequence[str | ModelPlan]",
    *,
    out: str | PathLike[str],
    sets: str | PathLike[str] | None = None,
    test_sets: "str | PathLike[str] | OwnData | Sequence[str | PathLike[str] | OwnData]" = (),
    only: str | Sequence[str] | None = None,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] = "own",
    mapping: str | PathLike[str] | Mapping[str, str] | None = None,
    head: str | PathLike[str] = "own",
    checkpoint: str | PathLike[str] | None = None,
    outputs: str | PathLike[str] = "imagenet-1k",
    templates: str | PathLike[str] = "openai",
    weights: Literal["pretrained", "random"] = "pretrained",
    allow_code: bool = False,
    partial: bool = False,
    device: str | None = None,
    precision: "Precision | None" = None,
    batch: int = 128,
    on_error: Literal["fail", "report"] = "fail",
    ignore_disk: bool = False,
    workers: int = 1,
    devices: str | Sequence[int | str] | None = None,
    executor: str | None = None,
    ray_address: str | None = None,
    part: tuple[int, int] = (1, 1),
    progress: bool = True,
    dry_run: bool = False,
) -> "Run | Plan":
    """Measure the accuracies of models on test sets with distribution shifts.

    Only missing accuracies are computed, so an interrupted call resumes when it is repeated, and a call with another
    test set or model adds it to the run. Models that cannot be loaded are named in an error after all others are done.

    Args:
        models: ids of backbones; a CSV file as for `unseen shifts run --models`; or
            `unseen.studies.shifts.plans.ModelPlan` objects, which have a name, a head and a checkpoint each.
        out: folder of the run, with `accuracies.csv`, `columns.csv` and predictions.
        sets: folder that contains the published test sets.
        test_sets: test sets of your own: a folder with one folder per class, a CSV or Parquet file of images and
            labels, a folder written by `unseen shifts captions`, a TOML file, or an
            `unseen.images.own.own_data.OwnData`.
        only: names of test sets in `sets`, or patterns such as "imagenet-c.*"; by default all that exist.
        classes: classes to score on: "own" for those of each test set, "shared" for those of all test sets, names of
            test sets, or lists of classes by name or file.
        mapping: mapping to coarser classes: "cifar-10", a CSV file, or a dictionary from name to class.
        head: how a backbone given by its id classifies, for instance "own" (its own classifier) or "zero-shot".
        checkpoint: file of weights for backbones given by their ids.
        outputs: classes of the classifier's outputs.
        templates: prompt templates of a zero-shot classifier: "openai" (80 sentences), "simple" (7 of them), "photo"
            ("a photo of a {}."), "plain" (the name of the class alone), or a text file with `{}` for the class name.
        weights: "random" for untrained networks.
        allow_code: allow a CSV file of models to name Python files and hub folders, which are executed.
        partial: also score incomplete copies of test sets.
        device, precision, batch, on_error: how logits are computed, as for features in `unseen.extract`.
        ignore_disk: start even if the disk seems too small for the logits.
        workers: number of processes that decode images. A script that uses several needs the usual
            `if __name__ == "__main__":`.
        devices, executor, ray_address, part: distribute models over the GPUs of this machine or over a Ray cluster, or
            run a part of the jobs, as in `unseen.concepts`.
        progress: show a progress bar in a terminal or a notebook.
        dry_run: return the plan, with estimated time and disk space, without running anything.

    Returns:
        The run, with `.scores()` and `.report("page.html")`; with `dry_run`, the plan.

    Example:
        >>> run = unseen.shifts(["timm:resnet50.a1_in1k"], sets="/data", only=["val", "imagenet-r"], out="run/")
        >>> run.scores()[["backbone", "domain", "value"]]
    """
    from unseen.features.settings import extraction_settings
    from unseen.images.own.own_data import OwnData
    from unseen.ontology.class_mapping import choose_mapping
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part
    from unseen.studies.progress_bars import bars
    from unseen.studies.shifts.plans import ModelPlan
    from unseen.studies.shifts.request import ShiftRequest, open_sets
    from unseen.studies.study import plan_study, run_study

    state = None if checkpoint is None else Path(checkpoint)
    common = ModelPlan(
        "", "", head=fspath(head), checkpoint=state, classes=fspath(outputs), templates=fspath(templates),
        weights=weights,
    )  # fmt: skip
    wanted = [only] if isinstance(only, str) else list(only or ())
    scopes = [fspath(name) for name in ([classes] if isinstance(classes, str | PathLike) else classes)]
    folder = Path(out)
    own = [test_sets] if isinstance(test_sets, str | PathLike | OwnData) else list(test_sets)
    request = ShiftRequest(
        _models(models, common, allow_code=allow_code),
        open_sets(None if sets is None else Path(sets), wanted, own, partial=partial),
        extraction_settings(device, precision, batch, workers, on_error),
        scopes,
        choose_mapping(fspath(mapping)).of if isinstance(mapping, str | PathLike) else mapping,
    )
    means = chosen_means(workers, devices=devices, executor=executor, ray_address=ray_address)
    share = checked_part(part)
    if dry_run:
        return plan_study(request, folder, means=means)
    with bars(show=progress) as watch:
        run_study(request, folder, means=means, watch=watch, ignore_disk=ignore_disk, part=share)
    request.refuse_passed_over(folder)
    return Run(folder)


def _models(
    models: "str | PathLike[str] | ModelPlan | Sequence[str | ModelPlan]", common: "ModelPlan", *, allow_code: bool
) -> "list[ModelPlan]":
    from unseen.studies.shifts.plans import ModelPlan, chosen_models

    if isinstance(models, PathLike) or (isinstance(models, str) and models.endswith(".csv")):
        return chosen_models([], Path(models), common, allow_code=allow_code)
    each = [models] if isinstance(models, str | ModelPlan) else list(models)
    plans = [one for one in each if isinstance(one, ModelPlan)]
    ids = [one for one in each if isinstance(one, str)]
    if not each or len(plans) + len(ids) < len(each):
        raise UserError("models must be ids of backbones, ModelPlan objects, or a CSV file")
    return [*plans, *(chosen_models(ids, None, common) if ids else ())]
