"""`unseen tasks --finetune`: backbones trained whole on the data sets of the task study."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import SECONDS_BETWEEN_LINES, console, duration, note, print_table, rate
from unseen.errors import UserError
from unseen.files import byte_size

if TYPE_CHECKING:
    import torch

    from unseen.backbones.backbone import Backbone
    from unseen.images.datasets.open_dataset import OpenDataset
    from unseen.runs.notices import Notice
    from unseen.studies.tasks.finetune import Planned

PAGE = "fine-tuning.html"
TABLE = "fine-tuning.csv"


def finetune_tasks(
    out: Path,
    load: "Callable[[], list[Backbone]]",
    datasets: Sequence[str],
    images: Path | None,
    *,
    trials: int,
    steps: int,
    seed: int,
    device: str | None,
    workers: int,
    dry_run: bool,
) -> None:
    """How well backbones do on other classification tasks when all of them is trained there.

    The best of 40 settings on validation images is trained again and scored on test images. With fewer settings or
    steps, scores are of the protocol ericsson-2021-short, and the page says so. Stopped, the same command goes on from
    the last checkpoint; run again with more settings, it keeps those that were tried.

    Args:
        out: folder of the run; it may be that of a study of features.
        load: loads the backbones, after the data sets are known to be there.
    """
    from unseen.probes.finetuning.grid import finetune_grid
    from unseen.runs.record import refuse_other_run
    from unseen.studies.tasks.finetune import Planned, cost, finetune_run, is_done, plan_finetuning

    grid, place = finetune_grid(trials=trials, steps=steps), _device(device)
    opened, absent = _open(datasets, images)
    loaded = load()
    plan = [
        Planned(plan_finetuning(each, data, grid, device=place, seed=seed), each, data)
        for data in opened
        for each in loaded
    ]
    _show_plan(plan, place, out)
    if grid.short:
        note(grid.short)
    if dry_run:
        return
    refuse_other_run(out, finetune_run(loaded, opened).provenance)
    progress = _Progress(sum(cost(item.job, item.opened, out).steps for item in plan))
    failed = [line for data in opened for line in _tune(data, plan, out, place, workers, progress)]
    done = [item for item in plan if is_done(item.job, out)]
    if done:
        _finish(done, out, absent, failed)
    if failed:
        raise UserError(f"{len(failed)} of {len(plan)} fine-tunings failed: {'; '.join(failed)}")


def _open(names: Sequence[str], images: Path | None) -> "tuple[list[OpenDataset], list[Notice]]":
    """The data sets that are there and split, and a notice on each of the others, which is printed too."""
    from unseen.runs.notices import left_out
    from unseen.studies.tasks.opened import open_datasets

    found = open_datasets(names, images)
    unsplit = [each.dataset.name for each in found.datasets if each.dataset.test is None]
    why = "its images are not split, so it serves few-shot episodes only"
    absent = [*found.absent, *(left_out(name, f"{name}: {why}") for name in unsplit)]
    for each in absent:
        note(each.sentence)
    split = [each for each in found.datasets if each.dataset.test is not None]
    if not split:
        raise UserError(f"{', '.join(unsplit)}: not split, so there is nothing to fine-tune on; name another data set")
    return split, absent


def _device(name: str | None) -> "torch.device":
    from unseen.device import default_device
    from unseen.features.settings import Settings, checked_device

    return checked_device(Settings(device=name or default_device().type))


def _show_plan(plan: "Sequence[Planned]", device: "torch.device", out: Path) -> None:
    from unseen.features.disk import free_disk
    from unseen.studies.finetuning import Steps, training_seconds
    from unseen.studies.tasks.finetune import cost

    rows, most = [], 0
    todo: list[Steps] = []
    for item in plan:
        job, left = item.job, cost(item.job, item.opened, out)
        todo.append(Steps(item.backbone, job.protocol.batch, left.steps))
        most = max(most, left.bytes)
        parts = item.opened.manifest.splits
        counts = (f"{sum(part == split for part in parts):,}" for split in ("train", "val", "test"))
        rows.append((job.domain, job.backbone, *counts, job.metric, left.trainings, f"{left.steps:,}"))
    columns = ("data set", "backbone", "train", "val", "test", "metric", "trainings left", "steps left")
    print_table("Fine-tuning", columns, rows, (*columns[2:5], *columns[6:]))
    free, seconds = free_disk(out), training_seconds(todo, device)
    console().print(
        f"\nAbout {duration(seconds)} of training on {device}, beside decoding, and for the time of a data set up to "
        f"{byte_size(most)} of disk for its decoded images, of which {byte_size(free)} are free."
    )
    if most > free:
        note(f"{out}: {byte_size(most)} of decoded images are to be written, but {byte_size(free)} are free")


class _Progress:
    """Prints, every few seconds, how far all trainings together are.

    The rate is that of steps from one check of a training to the next: where it began, at its start or at a checkpoint,
    is not known.
    """

    def __init__(self, steps: int) -> None:
        self._left, self._timed, self._seconds = steps, 0, 0.0
        self._at = ("", "", 0)
        self._checked = self._last = time.monotonic()

    def decoded(self, done: int, images: int) -> None:
        """Some images are decoded."""
        if time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            note(f"{done:,} of {images:,} images decoded")

    def trained(self, task: str, training: str, step: int) -> None:
        """A training is at a step."""
        now, going_on = time.monotonic(), self._at[:2] == (task, training) and step > self._at[2]
        steps = step - self._at[2] if going_on else step
        self._left -= steps
        if going_on:
            self._timed, self._seconds = self._timed + steps, self._seconds + now - self._checked
        self._at, self._checked = (task, training, step), now
        if self._timed and now - self._last > SECONDS_BETWEEN_LINES:
            speed = self._timed / self._seconds
            left = duration(max(self._left, 0) / speed)
            note(f"{task}, {training}, step {step:,}: {rate(speed, 'steps')}, {left} left")
            self._last = now


def _tune(
    data: "OpenDataset",
    plan: "Sequence[Planned]",
    out: Path,
    device: "torch.device",
    workers: int,
    progress: _Progress,
) -> list[str]:
    """Train what is left to do on a data set, and return a line on each fine-tuning that failed, which is printed too.

    Decoded images are there until all of it is done.
    """
    import shutil

    from unseen.studies.tasks.finetune import PIXELS, is_done

    folder = out / PIXELS / data.dataset.name
    failed = []
    for item in plan:
        if item.opened is data and not is_done(item.job, out):
            try:
                _tune_one(item, folder, out, device, workers, progress)
            except UserError as error:  # of one backbone or data set; the others are done all the same
                failed.append(f"{data.dataset.name}, {item.job.backbone}: {error}")
                note(failed[-1])
    if not failed:
        shutil.rmtree(folder, ignore_errors=True)
    return failed


def _tune_one(
    item: "Planned", folder: Path, out: Path, device: "torch.device", workers: int, progress: _Progress
) -> None:
    """Fine-tune one backbone; its images leave the device's memory at the end."""
    from functools import partial

    from unseen.probes.finetuning.images import load_task_images
    from unseen.studies.tasks.finetune import run_finetuning

    task, transform = f"{item.job.domain}, {item.job.backbone}", item.job.spec.transform
    pictures = load_task_images(item.opened, transform, folder, device=device, workers=workers, watch=progress.decoded)
    watch = partial(progress.trained, task)
    for training in run_finetuning(item.job, item.backbone, pictures, out, device=device, watch=watch):
        note(f"{task}: {training} done")


def _finish(done: "Sequence[Planned]", out: Path, absent: "Sequence[Notice]", failed: Sequence[str]) -> None:
    """Write what is done into the run, with page and table, and print them in short.

    Args:
        absent: on data sets that were left out, which the run keeps.
        failed: lines on what failed, for the page alone: the next time it may not.
    """
    import pandas as pd

    from unseen.report.tasks.finetune_page import findings, finetune_tables, write_finetune_page
    from unseen.report.tasks.tables import score_row
    from unseen.runs.lock import folder_lock
    from unseen.runs.tables import write_table
    from unseen.studies.tasks.finetune import finetune_page, finetune_run, finetuned_results, record_finetunings

    backbones = list({item.job.backbone: item.backbone for item in done}.values())
    opened = list({item.job.domain: item.opened for item in done}.values())
    with folder_lock(out):
        data, keys = record_finetunings(out, finetune_run(backbones, opened, absent), [item.job for item in done])
        said = [*(each.sentence for each in absent), *(f"Failed: {line}." for line in failed)]
        page = finetune_page(data, finetuned_results(out, keys), said)
        write_finetune_page(page, out / PAGE)
        scores = [score_row(score) for each in page.tuned for score in each.scores]
        write_table(pd.DataFrame(scores), out / TABLE)
    for table in finetune_tables(page):
        rows = [(row.name, *(cell.text for cell in row.cells)) for row in table.rows if not row.published]
        print_table(table.caption, ("backbone", *table.columns), rows, table.columns)
        console().print()
    for sentence in (*page.notices, *findings(page)):
        console().print(sentence)
    console().print(f"\nReport: {out / PAGE}\nScores: {out / TABLE}")
