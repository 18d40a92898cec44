"""The search of fine-tuning: a trial for each setting of a grid, and the final training that is scored."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import torch
from torch import Tensor, nn

from unseen.errors import UserError
from unseen.metrics.calibration import fit_temperature
from unseen.probes.calibration_values import calibration_details, calibration_scores
from unseen.probes.finetuning.grid import FinetuneGrid, at_edges, ranked_trials
from unseen.probes.finetuning.images import TaskImages, load_task_images, tested
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.scoring import ShownOrNot, calibration, class_scores
from unseen.probes.finetuning.train import Finetuned, finetune, predict, with_head
from unseen.probes.image_cell import PIXELS, ImageCell
from unseen.probes.job import Fit, Job
from unseen.probes.many_shot import Metric, metric_value
from unseen.probes.units import class_units

CHECKS = 10
"""Steps between checks of the loss and checkpoints."""


def trial_fit(cell: ImageCell, job: Job, setting: FinetuneProtocol) -> Fit:
    """The fit of a trial, without values: no test image was seen.

    Its details are the score on validation images, or null if training diverged, and the temperature fitted to them:
    the final network is trained on the validation images, so its temperature cannot be fitted to them.
    """
    images = _images(cell)
    name = f"rate {setting.rate:g}, decay {setting.decay * setting.rate:g}, {setting.augment}"
    model, done = _trained(cell, job, setting, images, ("train",), name)
    scores = _scores(model, images, "val", cell.device) if done.finished else None
    details: dict[str, Any] = {"losses": list(done.losses), "skipped": done.skipped}
    if scores is None:  # not finite: training diverged, and JSON has no such numbers for the losses
        details |= {"validation": None, "losses": []}
    else:
        labels = images.labels_of("val")
        details["validation"] = metric_value(scores, labels, cast("Metric", job.metric))
        if not labels.multi_label:
            fit = fit_temperature(scores, labels.y)
            details |= {"temperature": fit.temperature, "unbounded_temperature": fit.limit is not None}
    return Fit(job.probe, None, job.seed, details=details)


def final_fit(cell: ImageCell, job: Job, grid: FinetuneGrid) -> Fit:
    """The fit of a final job, from the details of its trials in the order of its grid.

    The best setting is trained again, with the validation images too; if that diverges, the next best one.
    """
    images, trials = _images(cell), cell.needed(job)
    validation = [trial["validation"] for trial in trials]
    ranked = ranked_trials(validation)
    labels = images.labels_of("test")
    for passed, chosen in enumerate(ranked):
        setting = grid.settings[chosen]
        model, done = _trained(cell, job, setting, images, ("train", "val"), "the best", f"-{chosen}")
        scores = _scores(model, images, "test", cell.device) if done.finished else None
        if scores is None:
            continue
        calibrated = None
        if not labels.multi_label:
            temperature, unbounded = (trials[chosen][name] for name in ("temperature", "unbounded_temperature"))
            calibrated = calibration(scores, labels.y, temperature, grid.bins, unbounded=unbounded)
        score = metric_value(scores, labels, cast("Metric", job.metric))
        details: dict[str, Any] = {
            "chosen": chosen,
            "setting": asdict(setting),
            "edges": at_edges(setting),
            "validation": list(validation),
            "passed_over": list(ranked[:passed]),
            "losses": list(done.losses),
            "skipped": done.skipped,
            "trial_seconds": sum(trial["seconds"] for trial in trials),
            **calibration_details(calibrated),
        }
        values = ((job.metric, score), *calibration_scores(calibrated))
        return Fit(job.probe, None, job.seed, values, details, units=class_units(scores, labels, tested(cell.opened)))
    raise UserError(
        f"{job.backbone} on {job.dataset}: every setting diverged when it was trained with validation images too; "
        "try more settings (the key trials) or another seed"
    )


def _images(cell: ImageCell) -> TaskImages:
    """The decoded images, which stay in memory for the next job of the cell."""
    if PIXELS not in cell.shared:
        folder = cell.folder / PIXELS / cell.opened.name
        show = cell.stepping
        progress = show(f"{cell.opened.name}, images decoded", len(cell.opened.manifest))
        with cell.lock(folder):  # one process decodes, and others that need the same images wait
            cell.shared[PIXELS] = load_task_images(
                cell.opened, cell.backbone.spec.transform, folder, device=cell.device, workers=cell.workers,
                watch=lambda done, _: progress(done),
            )  # fmt: skip
    images: TaskImages = cell.shared[PIXELS]
    return images


def _trained(
    cell: ImageCell,
    job: Job,
    protocol: FinetuneProtocol,
    images: TaskImages,
    splits: Sequence[str],
    name: str,
    suffix: str = "",
) -> tuple[nn.Module, Finetuned]:
    """A copy of the backbone with a new layer, trained on some splits, starting from its checkpoint if there is one."""
    backbone, place = cell.network(), cell.checkpoint(job)
    model = with_head(backbone.module, backbone.spec.dimension, images.classes, seed=job.seed)
    if images.labels.multi_label:
        model = ShownOrNot(model)
    done = finetune(
        model,
        lambda start: images.training(splits, start, protocol, job.seed),
        protocol,
        device=cell.device,
        seed=job.seed,
        every=max(protocol.steps // CHECKS, 1),
        checkpoint=place.with_stem(f"{place.stem}{suffix}"),
        identity=job.key,
        watch=cell.steps(job, name, protocol.steps),
    )
    return model, done


def _scores(model: nn.Module, images: TaskImages, split: str, device: torch.device) -> Tensor | None:
    """(n, c) class scores of a split; None if one is not finite because the last steps diverged."""
    scores = class_scores(predict(model, images.scored(split), device=device))
    return scores if bool(scores.isfinite().all()) else None
