"""Fine-tuning in the task study: a whole backbone trained on other classification tasks (Ericsson et al. 2021, A.2).

Every setting of the grid is a job with its own result and, while it runs, a checkpoint. So a killed run resumes in the
middle of a training, and a run with more settings reuses the results of those that were tried before.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.features.fingerprint import names_and_pixels
from unseen.images.open_dataset import OpenDataset
from unseen.images.rows import SPLITS
from unseen.papers.comparability import ScoredData
from unseen.papers.transfer import SOURCE
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.finetuning.grid import FinetuneGrid
from unseen.probes.finetuning.images import TaskImages, whole_transform
from unseen.probes.finetuning.jobs import TRIAL, grid_job, grid_of
from unseen.probes.job import Job, digest_of
from unseen.runs.data import Backbone as Row
from unseen.runs.data import Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.lock import folder_lock
from unseen.runs.notices import Notice
from unseen.runs.record import extend_run, write_run
from unseen.runs.results import RESULTS, Result, missing, read_all, read_result
from unseen.runs.setup import ImagesUsed
from unseen.studies.concepts.study import training_data
from unseen.studies.tasks.features import STUDY
from unseen.studies.tasks.finetune_work import run_task, run_trial
from unseen.studies.tasks.own_record import own_citations, own_notices
from unseen.studies.tasks.study import TITLE

if TYPE_CHECKING:
    import torch

CHECKPOINTS = "checkpoints"
PIXELS = "pixels"
Watch = Callable[[str, int], None]
"""Called with the name of a training and the number of its finished steps."""


@dataclass(frozen=True)
class Cost:
    """The cost of fine-tuning on a data set: remaining trainings and steps, and bytes of decoded images."""

    trainings: int
    steps: int
    bytes: int


def plan_finetuning(
    backbone: Backbone, opened: OpenDataset, grid: FinetuneGrid, *, device: "torch.device", seed: int = 0
) -> Job:
    """The job that fine-tunes a backbone on a data set; a backbone without parameters is refused."""
    if not any(True for _ in backbone.module.parameters()):
        raise UserError(f"{backbone.spec.id}: has no trainable parameters, so it cannot be fine-tuned")
    arithmetic = "float16" if device.type == "cuda" else "float32"
    return grid_job(
        backbone.label,
        backbone.spec,
        opened.dataset.name,
        names_and_pixels(opened.source, opened.manifest, SPLITS),
        grid,
        opened.dataset.metric,
        arithmetic,
        seed,
    )


def is_done(job: Job, out: Path) -> bool:
    """Whether a run has the result of a job."""
    return not missing([job], out / RESULTS)


def cost(job: Job, backbone: Backbone, opened: OpenDataset, out: Path) -> Cost:
    """The remaining cost of a job."""
    if is_done(job, out):
        return Cost(0, 0, 0)
    trainings = len(missing(job.needs, out / RESULTS)) + 1
    transform = backbone.spec.transform
    trained = sum(split in {"train", "val"} for split in opened.manifest.splits)
    pixels = len(opened.manifest) * transform.size**2 + trained * whole_transform(transform).size ** 2
    return Cost(trainings, trainings * grid_of(job).steps, 3 * pixels)


def run_training(
    job: Job,
    task: Job,
    backbone: Backbone,
    images: TaskImages,
    out: Path,
    *,
    device: "torch.device",
    watch: Watch = lambda _, __: None,
) -> Iterator[Job]:
    """Train a job without a result, starting from the last checkpoint, and yield it when it is done.

    Args:
        job: a trial, or the task after all its trials are done.
        backbone: the backbone that the job was planned with; its module is not changed.
        out: folder of the run. During a training it has a checkpoint of twice the size of the network, and one for each
            setting that diverged when it was trained again, until a setting succeeds.
    """
    if digest_of(backbone.spec) != job.reads["spec"]:
        raise UserError(f"{job.backbone} on {job.dataset}: changed since this fine-tuning was planned; run it again")
    results, trials, place = out / RESULTS, task.needs, checkpoint_path(out, job)

    def values(job: Job) -> dict[str, Any]:
        if job.probe == TRIAL:
            name = f"setting {trials.index(job) + 1} of {len(trials)}"
            return run_trial(job, backbone, images, place, device, partial(watch, name))
        tried = [_result(results, trial) for trial in trials]
        tell = partial(watch, "the best")
        found = run_task(job, [each.details for each in tried], backbone, images, place, device, tell)
        return found | {"trial_seconds": sum(each.seconds for each in tried)}

    for done in run_here([job], results, values):
        for path in (out / CHECKPOINTS).glob(f"{place.stem}*"):
            path.unlink(missing_ok=True)
        yield done


def checkpoint_path(out: Path, job: Job) -> Path:
    """The path of the checkpoint of a trial; for a task, the beginning of the names of its checkpoints."""
    return out / CHECKPOINTS / f"{job.key}.pt"


def _result(folder: Path, job: Job) -> Result:
    result = read_result(folder, job.key)
    if result is None:
        raise UserError(f"{folder}: the result of a trial was removed while it was needed; run the same command again")
    return result


def finetune_run(
    backbones: Sequence[Backbone], opened: Sequence[OpenDataset], notices: Sequence[Notice] = ()
) -> RunData:
    """The record of a run, without its scores."""
    rows = [
        Row(
            b.label,
            "yours",
            f"{b.spec.dimension} features, fine-tuned",
            training_data=training_data(b.spec.id, about),
            finetuning=about,
        )
        for b in backbones
        for about in [BackboneAbout.of(b.spec)]
    ]
    return RunData(
        title=TITLE,
        scores=(),
        domains=[Domain(each.dataset.name, each.dataset.title, licence=each.dataset.licence) for each in opened],
        backbones=rows,
        baseline=rows[0].name,
        told=[*notices, *own_notices(each.dataset for each in opened)],
        remarks=own_citations(each.dataset for each in opened),
        images=[
            ImagesUsed(each.dataset.name, split, images=count, hash=each.manifest.content_hash)
            for each in opened
            for split, count in Counter(each.manifest.splits).items()
        ],
        scored=[_scored(b.label, each) for b in backbones for each in opened],
        study=STUDY,
    )


def _scored(backbone: str, opened: OpenDataset) -> ScoredData:
    images = dict(Counter(opened.manifest.splits))
    return ScoredData(backbone, opened.dataset.name, SOURCE, len(opened.classes), images, "given")


def record_finetunings(out: Path, data: RunData, jobs: Sequence[Job]) -> tuple[RunData, list[str]]:
    """Add finished jobs to their run; they replace those of another grid for the same backbone and data set."""
    own = [job.key for job in jobs]
    done = {(job.backbone, job.dataset) for job in jobs}
    with folder_lock(out):
        data, keys = extend_run(out, data, own)
        replaced = {
            result.key
            for result in finetuned_results(out, keys)
            if result.key not in own and (result.job["backbone"], result.job["dataset"]) in done
        }
        kept = [key for key in keys if key not in replaced]
        write_run(out, data, kept)
    return data, kept


def finetuned_results(out: Path, keys: Sequence[str]) -> list[Result]:
    """The results of fine-tuning in a run."""
    return [result for result in read_all(out / RESULTS, keys) if result.is_of(FineTuned.name)]
