"""Computation of fine-tuning jobs on a data set: a trial of the grid, and the final training that is scored."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, option
from unseen.probes.finetuning.images import TaskImages
from unseen.probes.finetuning.jobs import TRIAL, final_fit, grid_of, protocol_of_training
from unseen.probes.job import Fit, Job, fits_kept

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unseen.probes.finetuning.protocol import FinetuneProtocol
    from unseen.probes.finetuning.train import Finetuned
    from unseen.probes.many_shot import Metric

CHECKS = 10
"""Steps between checks of the loss and checkpoints."""
Watch = Callable[[int], None]
"""Called with the number of finished steps."""


def run_trial(
    job: Job,
    backbone: Backbone,
    images: TaskImages,
    checkpoint: Path,
    device: "torch.device",
    watch: Watch,
) -> dict[str, Any]:
    """The values of a trial.

    They are the score on validation images, or null if training diverged, and the temperature fitted to them: the final
    network is trained on the validation images, so its temperature cannot be fitted to them.
    """
    from unseen.metrics.calibration import fit_temperature
    from unseen.probes.many_shot import metric_value

    model, done = _trained(protocol_of_training(job), job, backbone, images, ("train",), checkpoint, device, watch)
    scores = _scores(model, images, "val", device) if done.finished else None
    details: dict[str, Any] = {"losses": list(done.losses), "skipped": done.skipped}
    if scores is None:  # not finite: training diverged, and JSON has no such numbers for the losses
        details |= {"validation": None, "losses": []}
    else:
        labels = images.labels_of("val")
        details["validation"] = metric_value(scores, labels, cast("Metric", job.metric))
        if not labels.multi_label:
            fit = fit_temperature(scores, labels.y)
            details |= {"temperature": fit.temperature, "unbounded_temperature": fit.limit is not None}
    return fits_kept([Fit(TRIAL, None, job.seed, details=details)]) | {"device": device.type}


def run_task(
    job: Job,
    trials: Sequence[Mapping[str, Any]],
    backbone: Backbone,
    images: TaskImages,
    checkpoint: Path,
    device: "torch.device",
    watch: Watch,
) -> dict[str, Any]:
    """The values of a final job, from the details of its trials in the order of its grid.

    The best setting is trained again, with the validation images too; if that diverges, the next best one.

    Args:
        checkpoint: each setting that is trained again has a checkpoint, named after this path and its position.
    """
    from unseen.probes.finetuning.grid import ranked_trials
    from unseen.probes.finetuning.scoring import calibration
    from unseen.probes.many_shot import metric_value

    grid, validation = grid_of(job), [trial["validation"] for trial in trials]
    ranked = ranked_trials(validation)
    labels = images.labels_of("test")
    for passed, chosen in enumerate(ranked):
        place = checkpoint.with_stem(f"{checkpoint.stem}-{chosen}")
        setting = grid.settings[chosen]
        model, done = _trained(setting, job, backbone, images, ("train", "val"), place, device, watch)
        scores = _scores(model, images, "test", device) if done.finished else None
        if scores is None:
            continue
        calibrated = None
        if not labels.multi_label:
            temperature, unbounded = (trials[chosen][name] for name in ("temperature", "unbounded_temperature"))
            calibrated = calibration(scores, labels.y, temperature, grid.bins, unbounded=unbounded)
        score = metric_value(scores, labels, cast("Metric", job.metric))
        fit = final_fit(job, score, chosen, validation, calibrated, done, ranked[:passed])
        return fits_kept([fit]) | {"device": device.type}
    raise UserError(
        f"{job.backbone} on {job.dataset}: every setting diverged when it was trained with validation images too; "
        f"try more settings ({option('trials')}) or another seed ({option('seed')})"
    )


def _trained(
    protocol: "FinetuneProtocol",
    job: Job,
    backbone: Backbone,
    images: TaskImages,
    splits: Sequence[str],
    checkpoint: Path,
    device: "torch.device",
    watch: Watch,
) -> "tuple[nn.Module, Finetuned]":
    """A copy of the backbone with a new layer, trained on some splits, starting from its checkpoint if there is one."""
    from unseen.probes.finetuning.scoring import ShownOrNot
    from unseen.probes.finetuning.train import finetune, with_head

    model = with_head(deepcopy(backbone.module), backbone.spec.dimension, images.classes, seed=job.seed)
    if images.labels.multi_label:
        model = ShownOrNot(model)
    done = finetune(
        model,
        lambda start: images.training(splits, start, protocol, job.seed),
        protocol,
        device=device,
        seed=job.seed,
        every=max(protocol.steps // CHECKS, 1),
        checkpoint=checkpoint,
        identity=job.key,
        watch=watch,
    )
    return model, done


def _scores(model: "nn.Module", images: TaskImages, split: str, device: "torch.device") -> "Tensor | None":
    """(n, c) class scores of a split; None if one is not finite because the last steps diverged."""
    from unseen.probes.finetuning.scoring import class_scores
    from unseen.probes.finetuning.train import predict

    scores = class_scores(predict(model, images.scored(split), device=device))
    return scores if bool(scores.isfinite().all()) else None
