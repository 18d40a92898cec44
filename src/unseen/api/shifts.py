"""`unseen.shifts` and `unseen.effective_robustness`: accuracies under shifts, and what of them is not expected."""

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
from unseen.studies.shifts.table import FitOn, shift_table
from unseen.studies.shifts.units import Unit

if TYPE_CHECKING:
    import pandas as pd

    from unseen.features.settings import Precision
    from unseen.images.shift_sets.own import OwnSet
    from unseen.metrics.robustness import Method
    from unseen.report.core.model import Figure
    from unseen.studies.shifts.plans import ModelPlan
    from unseen.studies.study import Plan

NAMED = 5
"""Models whose names a plot has: those farthest from what is expected of them."""


@dataclass(frozen=True, repr=False)
class Robustness(ShiftStudy):
    """A study of shifts that can be drawn."""

    def groups(self) -> "pd.DataFrame":
        """Groups of models in points, for each fit and OOD test set and on average over OOD test sets.

        One row per ID test sets of a fit (`id`), OOD test set and group: number of models, mean and deviation of ρ,
        and MAE. The average, `(average)`, is over OOD test sets for each model that has them all, then over models.
        """
        import pandas as pd

        from unseen.studies.shifts.groups import group_scores

        rows = [{"id": " + ".join(score.id_sets), **asdict(score)} for score in group_scores(self)]
        return pd.DataFrame(rows).drop(columns="id_sets")

    def plot(self, ood: str | None = None) -> "Figure":
        """Accuracies on an OOD test set over those expected from the ID ones; above the line is effective robustness.

        Args:
            ood: the test set, by default the first.

        Returns:
            A figure: the last line of a notebook's cell shows it, and `.save("robustness.svg")` writes it.
        """
        from unseen.report.core.looks import GREY, level_colour
        from unseen.report.core.model import Figure, Series

        names = [fit.ood for fit in self.fits]
        chosen = ood or names[0]
        if chosen not in names:
            raise UserError(
                f"no OOD test set '{chosen}'{did_you_mean(chosen, names) or '; there are ' + ', '.join(names)}"
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
            caption=f"{len(scores)} models; the {len(farthest)} farthest from the line have names",
            x_label=f"accuracy expected from {' and '.join(self.table.id_sets)}",
            y_label=f"accuracy on {chosen}",
            series=tuple(series),
        )


def effective_robustness(
    table: "pd.DataFrame",
    id: str | Sequence[str] | Mapping[str, str | Sequence[str]],  # noqa: A002  (what the field calls it)
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
    """Fit accuracies out of distribution (OOD) on those in distribution (ID), and score models by what lies beyond.

    Args:
        table: one row per model, one column per test set, in percent or as fractions.
        id: columns of the ID test sets, one or several; or OOD test set → its ID test sets, as many for each and in the
            same order, where each OOD test set has them on classes of its own.
        ood: columns of the OOD test sets, one or several; by default those that `id` names.
        fit_on: the models of the fit, as an expression (`"group in {a, b}"`) or a function of the table; the others
            are only scored. By default all.
        group: column of groups, for means and for held-out groups.
        model: column of the models' names.
        unit: "percent" or "fraction"; by default it is detected.
        method: of the fit, by default that of the paper: least squares on logits.
        minimum: least accuracy on an ID test set for a model to take part, by the test set's name.
        sizes: number of images of test sets; with it, accuracies of exactly 0 or 1 can be used.
        resamples, seed, level: of the bootstrap over models, and the coverage of its intervals.

    Returns:
        A study with one fit per OOD test set, with `.to_frame()` and `.plot()`.

    Example:
        >>> study = unseen.effective_robustness(table, id=["imagenet", "yfcc"], ood="imagenet-v2")
        >>> study.to_frame().sort_values("rho", ascending=False).head()
    """
    own = {name: _listed(columns) for name, columns in id.items()} if isinstance(id, Mapping) else {}
    checked = shift_table(
        table, [] if isinstance(id, Mapping) else _listed(id), list(own) if ood is None else _listed(ood), id_for=own,
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
    test_sets: "str | PathLike[str] | OwnSet | Sequence[str | PathLike[str] | OwnSet]" = (),
    only: str | Sequence[str] | None = None,
    classes: str | Sequence[str] = "own",
    mapping: str | PathLike[str] | Mapping[str, str] | None = None,
    head: str = "own",
    checkpoint: str | PathLike[str] | None = None,
    outputs: str = "imagenet-1k",
    templates: str = "openai",
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
    """Accuracies of models on test sets of several distributions, as a run that is added to by every call.

    What `out` has already is not computed again. A call that was stopped continues when it is repeated; one with
    another test set or model adds it. Models that cannot be loaded are named in an error once the others are done.

    Args:
        models: ids of backbones, or a CSV file as for the command `unseen shifts run --models`, or
            `unseen.studies.shifts.plans.ModelPlan`s with a head, a checkpoint and a name each.
        out: folder of the run, with `accuracies.csv`, `columns.csv` and predictions.
        sets: the folder that published test sets are below.
        test_sets: your own: a folder per class, a CSV or Parquet of images and labels, what `unseen shifts captions`
            wrote, a TOML file, or an `unseen.images.shift_sets.own.OwnSet`.
        only: names of test sets below `sets`, or patterns such as "imagenet-c.*"; by default all that are there.
        classes: to score on: "own", "shared", test sets whose classes to take, or lists of classes by name or file.
        mapping: classes to compare by: "cifar-10", a CSV file, or name → class.
        head, checkpoint, outputs, templates, weights: what makes backbones classifiers, where they are given by ids.
        allow_code: run the Python files and hub folders that a CSV file of models names.
        partial: score incomplete copies of test sets too.
        device, precision, batch, on_error: how logits are computed, as features in `unseen.extract`.
        ignore_disk: start although the disk has too little space for the logits.
        workers: processes that decode images. Scripts that ask for several need the usual `if __name__ == "__main__"`.
        devices, executor, ray_address, part: spread models over GPUs of this machine or a Ray cluster, or do a part of
            the jobs, as `unseen.tasks` does.
        progress: whether to show a bar in a terminal or a notebook.
        dry_run: only return what would be done and what that takes.

    Returns:
        The run, with `.scores()` and `.report("page.html")`; with `dry_run`, the plan.

    Example:
        >>> run = unseen.shifts(["timm:resnet50.a1_in1k"], sets="/data", only=["val", "imagenet-r"], out="run/")
        >>> run.scores()[["backbone", "domain", "value"]]
    """
    from unseen.api.progress import bars
    from unseen.features.settings import extraction_settings
    from unseen.images.shift_sets.own import OwnSet
    from unseen.ontology.class_mapping import choose_mapping
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part
    from unseen.studies.shifts.plans import ModelPlan
    from unseen.studies.shifts.request import ShiftRequest, open_sets
    from unseen.studies.study import plan_study, run_study

    state = None if checkpoint is None else Path(checkpoint)
    common = ModelPlan("", "", head=head, checkpoint=state, classes=outputs, templates=templates, weights=weights)
    wanted, scopes = ([names] if isinstance(names, str) else list(names or ()) for names in (only, classes))
    folder = Path(out)
    own = [test_sets] if isinstance(test_sets, str | PathLike | OwnSet) else list(test_sets)
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
        raise UserError("models are ids of backbones, ModelPlans, or the CSV file of some")
    return [*plans, *(chosen_models(ids, None, common) if ids else ())]
