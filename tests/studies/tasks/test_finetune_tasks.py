"""Fine-tuning in the task study: done once, resumed in the middle, extended, and its page."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import UserError
from unseen.images.arrays import array_images
from unseen.images.manifest import Manifest
from unseen.images.open_dataset import OpenDataset
from unseen.images.sets.digits import DATASET
from unseen.images.transform import Transform
from unseen.probes.finetuning.grid import FinetuneGrid, finetune_grid, ranked_trials
from unseen.probes.finetuning.images import TaskImages, load_task_images
from unseen.probes.finetuning.jobs import grid_of, short_notices
from unseen.probes.job import Job
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Section
from unseen.report.tasks.page import write_task_page
from unseen.report.tasks.tables import score_tables
from unseen.runs.results import Result, read_result
from unseen.studies.tasks.finetune import (
    CHECKPOINTS,
    cost,
    finetune_run,
    finetuned_results,
    is_done,
    plan_finetuning,
    record_finetunings,
    run_training,
)
from unseen.studies.tasks.page_data import TaskPage
from unseen.studies.tasks.results import page_of_results

CPU = torch.device("cpu")
SHAPE = Transform(size=7, resize=7)


def sections(page: TaskPage) -> dict[str, Section]:
    return {section.name: section for section in build_sections("tasks", page)}


def backbone(name: str = "tiny") -> Backbone:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    module.append(nn.Dropout(0.2)).eval().requires_grad_(False)
    return Backbone(Spec(name, "seed 0", "output", "none", 6, 0, SHAPE), module)


@pytest.fixture(scope="module")
def opened() -> OpenDataset:
    """Three classes that differ in colour, of unequal sides; every seventh is wrong."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 3
    pixels = rng.integers(0, 150, (120, 9, 11, 3))
    pixels[np.arange(120), ..., (labels + (np.arange(120) % 7 == 0)) % 3] += 70
    source = array_images(pixels.astype(np.uint8), ["abc"[label] for label in labels])
    splits = ["train"] * 12 + ["val"] * 6 + ["test"] * 6
    return OpenDataset(DATASET, source, Manifest(source.entries, splits * 5))


@pytest.fixture(scope="module")
def images(opened: OpenDataset, tmp_path_factory: pytest.TempPathFactory) -> TaskImages:
    return load_task_images(opened, SHAPE, tmp_path_factory.mktemp("pixels"), device=CPU)


def plan(opened: OpenDataset, trials: int = 4, steps: int = 20) -> Job:
    return plan_finetuning(backbone(), opened, finetune_grid(trials=trials, steps=steps), device=CPU)


def result_of(job: Job, out: Path) -> Result:
    result = read_result(out / "results", job.key)
    assert result is not None
    return result


def run_finetuning(job: Job, backbone: Backbone, images: TaskImages, out: Path, **options: Any) -> Iterator[Job]:
    """All trials that have no result yet, and then the task."""
    for each in (*job.needs, job):
        yield from run_training(each, job, backbone, images, out, **options)


def without_times(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name != "trial_seconds"}


def changed(result: Result, **details: object) -> Result:
    """A result with other details of its fit."""
    [fit] = result.values["fits"]
    return replace(result, values=result.values | {"fits": [fit | {"details": fit["details"] | details}]})


def test_it_is_done_once_and_the_backbone_is_left_alone(
    opened: OpenDataset, images: TaskImages, tmp_path: Path
) -> None:
    job, model = plan(opened), backbone()
    before = {name: value.clone() for name, value in model.module.state_dict().items()}
    assert cost(job, model, opened, tmp_path).trainings == 5
    assert cost(job, model, opened, tmp_path).bytes == 3 * (120 * 7**2 + 90 * 10**2)
    assert list(run_finetuning(job, model, images, tmp_path, device=CPU)) == [*job.needs, job]
    assert all(torch.equal(value, before[name]) for name, value in model.module.state_dict().items())
    assert not [*(tmp_path / CHECKPOINTS).iterdir()]
    result = result_of(job, tmp_path)
    scores = [read_result(tmp_path / "results", trial.key) for trial in job.needs]
    validation = [score.details["validation"] for score in scores if score]
    assert result.details["validation"] == validation
    assert result.details["chosen"] == ranked_trials(validation)[0]
    assert validation[result.details["chosen"]] > 0.5
    assert dict(result.fits[0].values)["top1"] > 0.5  # of three classes
    assert is_done(job, tmp_path)
    assert cost(job, model, opened, tmp_path).steps == 0

    def unwanted(*_: object) -> None:
        raise AssertionError("nothing is left to do")

    assert list(run_finetuning(job, model, images, tmp_path, device=CPU, watch=unwanted)) == []


def interrupt(at: tuple[str, int]) -> Callable[[str, int], None]:
    def watch(name: str, step: int) -> None:
        if (name, step) == at:
            raise KeyboardInterrupt

    return watch


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(("setting 1 of 2", 20), marks=pytest.mark.long_suite),
        pytest.param(("setting 2 of 2", 6), marks=pytest.mark.long_suite),
        ("the best", 14),
    ],
)
def test_stopped_in_the_middle_it_ends_the_same(
    opened: OpenDataset, images: TaskImages, tmp_path: Path, at: tuple[str, int]
) -> None:
    job = plan(opened, trials=2)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    list(run_finetuning(job, backbone(), images, whole, device=CPU))
    with pytest.raises(KeyboardInterrupt):
        list(run_finetuning(job, backbone(), images, stopped, device=CPU, watch=interrupt(at)))
    assert len([*(stopped / CHECKPOINTS).iterdir()]) == 1
    seen: list[tuple[str, int]] = []
    list(run_finetuning(job, backbone(), images, stopped, device=CPU, watch=lambda *call: seen.append(call)))
    assert seen[0] == at  # of 2, 4, … 20: the checkpoint is of the one before, and what was done is not repeated
    assert without_times(result_of(job, stopped).values) == without_times(result_of(job, whole).values)


def test_more_settings_keep_those_that_were_tried(opened: OpenDataset, images: TaskImages, tmp_path: Path) -> None:
    short, longer = plan(opened, trials=2), plan(opened, trials=3)
    data = finetune_run([backbone()], [opened])
    list(run_finetuning(short, backbone(), images, tmp_path, device=CPU))
    _, keys = record_finetunings(tmp_path, data, [short])
    assert keys == [short.key]
    assert cost(longer, backbone(), opened, tmp_path).trainings == 2
    left = list(run_finetuning(longer, backbone(), images, tmp_path, device=CPU))
    assert left == [longer.needs[2], longer]
    data, keys = record_finetunings(tmp_path, data, [longer])
    assert keys == [longer.key]
    assert json.loads((tmp_path / "run.json").read_text())["keys"] == keys

    results = finetuned_results(tmp_path, keys)
    assert short_notices(result.job for result in results) == [finetune_grid(trials=3, steps=20).short]
    page = page_of_results(data, results)
    assert page.protocol == "ericsson-2021-short"
    assert page.timings["tiny"][0] == 4
    [scores] = score_tables(page, ("finetuned",))
    assert scores.rows[0].cells[1].text == f"{100 * dict(results[0].fits[0].values)['top1']:.2f}"
    # A search that was cut short does not stand beside the paper's.
    assert not any(score.published and score.probe == "fine-tuned" for score in page.scores)
    protocol = asdict(finetune_grid()) | {"trials": 3}
    whole = replace(results[0], job=results[0].job | {"settings": {"protocol": protocol}})
    assert any(score.published and score.probe == "fine-tuned" for score in page_of_results(data, [whole]).scores)
    found = sections(page)
    assert sum(len(series.x) for series in found["fine-tuning"].figures[0].series) == 3
    assert len(found["calibration"].figures) == 1
    write_task_page(page, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Fine-tuning was cut short (ericsson-2021-short): 3 of 40 settings, 20 of 5,000 steps" in text


def test_settings_that_diverged_are_passed_over(
    opened: OpenDataset, images: TaskImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = FinetuneGrid.settings.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(
        FinetuneGrid,
        "settings",
        property(lambda grid: (replace(usual(grid)[0], rate=1e30), *usual(grid)[1 : grid.trials])),
    )
    job = plan(opened, trials=4)
    list(run_finetuning(job, backbone(), images, tmp_path, device=CPU))
    details = result_of(job, tmp_path).details
    assert details["validation"][0] is None
    assert details["chosen"] > 0
    page = page_of_results(finetune_run([backbone()], [opened]), [result_of(job, tmp_path)])
    assert any("1 of 4 settings diverged" in sentence for sentence in sections(page)["fine-tuning"].sentences)
    alone = plan(opened, trials=1)
    with pytest.raises(UserError, match="all 1 trainings diverged"):
        list(run_finetuning(alone, backbone(), images, tmp_path, device=CPU))


def test_what_was_passed_over_and_how_it_was_computed_are_on_the_page(
    opened: OpenDataset, images: TaskImages, tmp_path: Path
) -> None:
    job = plan(opened, trials=3, steps=4)
    list(run_finetuning(job, backbone(), images, tmp_path, device=CPU))
    result, run = result_of(job, tmp_path), finetune_run([backbone()], [opened])
    worst = ranked_trials(result.details["validation"])[-1]
    rate = grid_of(job).settings[worst].rate
    page = page_of_results(run, [changed(result, passed_over=[worst])])
    assert page.timings["tiny"][0] == 5  # three trials, what diverged and what did not
    sentences = sections(page)["fine-tuning"].sentences
    assert any(f"rate {rate:g}" in said and "diverged when it was trained again" in said for said in sentences)
    assert not any(
        "trained again" in said for said in sections(page_of_results(run, [result]))["fine-tuning"].sentences
    )
    assert page.provenance["arithmetic of fine-tuning"] == "All numbers in 32 bits, on a CPU"
    other = replace(
        result,
        job=result.job | {"arithmetic": "float16", "backbone": "other"},
        values=result.values | {"device": "cuda"},
    )
    both = finetune_run([backbone(), backbone("other")], [opened])
    assert page_of_results(both, [result, other]).provenance["arithmetic of fine-tuning"] == (
        "All numbers in 32 bits, on a CPU: tiny on digits (yours); "
        "Products in 16 bits, weights and updates in 32, on a GPU: other on digits (yours)"
    )


def test_names_are_only_text_on_the_page(opened: OpenDataset, images: TaskImages, tmp_path: Path) -> None:
    evil = backbone("<script>alert(1)</script>")
    job = plan_finetuning(evil, opened, finetune_grid(trials=1, steps=2), device=CPU)
    list(run_finetuning(job, evil, images, tmp_path, device=CPU))
    page = page_of_results(finetune_run([evil], [opened]), [result_of(job, tmp_path)])
    write_task_page(page, tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text()


def test_what_cannot_be_fine_tuned(opened: OpenDataset, images: TaskImages, tmp_path: Path) -> None:
    frozen = Backbone(replace(backbone().spec, id="pixels"), nn.Flatten())
    with pytest.raises(UserError, match="pixels: has no trainable parameters"):
        plan_finetuning(frozen, opened, finetune_grid(), device=CPU)
    other = replace(backbone(), spec=replace(backbone().spec, digest="other"))
    with pytest.raises(UserError, match="changed since this fine-tuning was planned"):
        list(run_finetuning(plan(opened), other, images, tmp_path, device=CPU))


def test_damaged_results_are_named(opened: OpenDataset, images: TaskImages, tmp_path: Path) -> None:
    job = plan(opened, trials=1, steps=2)
    list(run_finetuning(job, backbone(), images, tmp_path, device=CPU))
    result = result_of(job, tmp_path)
    run = finetune_run([backbone()], [opened])
    [fit] = result.values["fits"]
    for wrong in (
        *(changed(result, **change) for change in ({"chosen": "first"}, {"chosen": 1}, {"validation": []})),
        replace(result, values=result.values | {"fits": [fit | {"values": {"top1": 2.0}}]}),
        replace(result, values=result.values | {"trial_seconds": None}),
    ):
        with pytest.raises(UserError, match=result.key):
            page_of_results(run, [wrong])
