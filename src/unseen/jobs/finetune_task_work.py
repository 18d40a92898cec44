"""Computing the jobs of fine-tuning on a data set: a trial of the grid, and the training that is scored."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.jobs.finetune_images import TaskImages
from unseen.jobs.finetune_task_job import FinetuneTaskJob, FinetuneTrialJob, task_values
from unseen.jobs.job import job_key

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from unseen.probes.finetune import Finetuned, FinetuneProtocol

CHECKS = 10
"""How often a training looks at its loss and saves where it is."""
Watch = Callable[[int], None]
"""Called with the number of steps done."""


def run_trial(
    job: FinetuneTrialJob,
    backbone: Backbone,
    images: TaskImages,
    checkpoint: Path,
    device: "torch.device",
    watch: Watch,
) -> dict[str, Any]:
    """The values of a trial.

    They are the score on validation images, or null where training diverged, and the temperature that fits its scores
    to them: the network that is scored in the end has been trained on them and cannot be asked.
    """
    from unseen.metrics.calibration import fit_temperature
    from unseen.probes.many_shot import metric_value

    model, done = _trained(job_key(job), job.protocol, job, backbone, images, ("train",), checkpoint, device, watch)
    scores = _scores(model, images, "val", device) if done.finished else None
    values: dict[str, Any] = {"losses": list(done.losses), "device": device.type}
    if scores is None:  # numbers that are not finite mean the same, and JSON has none for the losses
        return values | {"validation": None, "losses": []}
    labels = images.labels_of("val")
    values["validation"] = metric_value(scores, labels, job.metric)
    return values if labels.multi_label else values | {"temperature": fit_temperature(scores, labels.y).temperature}


def run_task(
    job: FinetuneTaskJob,
    trials: Sequence[dict[str, Any]],
    backbone: Backbone,
    images: TaskImages,
    checkpoint: Path,
    device: "torch.device",
    watch: Watch,
) -> dict[str, Any]:
    """The values of a task, from those of its trials in the order of its grid."""
    from unseen.probes.finetune_grid import best_trial, calibration
    from unseen.probes.many_shot import metric_value

    validation = [trial["validation"] for trial in trials]
    chosen = best_trial(validation)
    setting = job.protocol.settings[chosen]
    model, done = _trained(job_key(job), setting, job, backbone, images, ("train", "val"), checkpoint, device, watch)
    scores = _scores(model, images, "test", device) if done.finished else None
    if scores is None:
        raise UserError(
            f"{job.backbone} on {job.domain}: the setting that was best on validation images diverged when it was "
            f"trained with them (rate {setting.rate:g}, decay {setting.decay:g}); try another seed (--seed)"
        )
    labels = images.labels_of("test")
    calibrated = (
        None if labels.multi_label else calibration(scores, labels.y, trials[chosen]["temperature"], job.protocol.bins)
    )
    score = metric_value(scores, labels, job.metric)
    return task_values(job, score, chosen, validation, calibrated, done.losses) | {"device": device.type}


def _trained(
    key: str,
    protocol: "FinetuneProtocol",
    job: FinetuneTrialJob | FinetuneTaskJob,
    backbone: Backbone,
    images: TaskImages,
    splits: Sequence[str],
    checkpoint: Path,
    device: "torch.device",
    watch: Watch,
) -> "tuple[nn.Module, Finetuned]":
    """A copy of the backbone with a new layer, trained on some splits, from its checkpoint on where there is one."""
    import torch

    from unseen.probes.finetune import finetune, with_head
    from unseen.probes.finetune_grid import ShownOrNot

    model = with_head(deepcopy(backbone.module), job.spec.dimension, images.classes, seed=job.seed)
    if images.labels.multi_label:
        model = ShownOrNot(model)
    if device.type == "cuda":  # as the images are in memory, so that convolutions need not turn them around
        model = model.to(memory_format=torch.channels_last)
    done = finetune(
        model,
        lambda start: images.training(splits, start, protocol, job.seed),
        protocol,
        device=device,
        seed=job.seed,
        every=max(protocol.steps // CHECKS, 1),
        checkpoint=checkpoint,
        identity=key,
        watch=watch,
    )
    return model, done


def _scores(model: "nn.Module", images: TaskImages, split: str, device: "torch.device") -> "Tensor | None":
    """(n, c) scores of a split's classes; None where one is not finite, as the weights of the last steps diverged."""
    from unseen.probes.finetune import predict
    from unseen.probes.finetune_grid import class_scores

    scores = class_scores(predict(model, images.scored(split), device=device))
    return scores if bool(scores.isfinite().all()) else None
