"""Trials and final trainings of a grid against a plain PyTorch loop over all images."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.arrays import array_images
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.sets.digits import DATASET
from unseen.errors import UserError
from unseen.metrics.average_precision import average_precision_11_point
from unseen.papers.transfer import FINETUNED, FINETUNED_ECE, FINETUNED_SCALED_ECE, task_setting
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.finetuning.grid import FinetuneGrid, finetune_grid
from unseen.probes.finetuning.images import TaskImages, epoch_order, load_task_images, task_labels
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.search import final_fit, trial_fit
from unseen.probes.finetuning.trial import Trial
from unseen.probes.image_cell import ImageCell, ImageInputs, Stepping
from unseen.probes.job import Fit, Job, fits_kept
from unseen.probes.many_shot import Metric
from unseen.runs.data import Domain, RunData
from unseen.runs.results import Result
from unseen.runs.scores import result_scores

CPU = torch.device("cpu")
SIDE = 6
SHAPE = Transform(size=SIDE, resize=SIDE)
SPEC = Spec("tiny", "seed 0", "output", "none", 8, 0, SHAPE)
SPLITS = ["train"] * 4 + ["val"] * 2 + ["test"] * 2
STEPS = 12


def backbone() -> Backbone:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return Backbone(SPEC, module)


def data(labels: Sequence[str], metric: str = "top1") -> OpenDataset:
    """80 pictures whose colour goes with the first letter of their label, but for every seventh."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 120, (80, SIDE, SIDE, 3))
    for number, label in enumerate(labels):
        pixels[number, ..., ("abc".index(label[0]) + (number % 7 == 0)) % 3] += 60
    source = array_images(pixels.astype(np.uint8), labels)
    dataset = replace(DATASET, metric=metric, target="class" if metric == "top1" else "classes", classes=3)  # type: ignore[arg-type]
    return OpenDataset(dataset, source, Manifest(source.entries, SPLITS * 10))


SINGLE = ["abc"[number % 3] for number in range(80)]
SEVERAL = [("a", "b+c", "c", "a+b", "b?+c")[number % 5] for number in range(80)]


def loaded(opened: OpenDataset, folder: Path) -> TaskImages:
    return load_task_images(opened, SHAPE, folder, device=CPU)


def setting(rate: float = 0.05, batch: int = 40) -> FinetuneProtocol:
    return FinetuneProtocol("t", STEPS, batch, rate, decay=0.01, augment="centre")


def trial(metric: Metric, rate: float = 0.05) -> Job:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FinetuneGrid, "settings", property(lambda _: (setting(rate),)))
        return task(metric).needs[0]


def cell(
    opened: OpenDataset,
    job: Job,
    folder: Path,
    tried: Sequence[dict[str, Any]] = (),
    watch: Stepping = lambda step, detail="": None,
) -> ImageCell:
    """What a job is given: the images, and the details of the trials that it needs."""
    needed = [each | {"seconds": 2.0} for each in tried]
    return ImageCell(
        backbone(), opened, {job.setting: job}, folder, CPU, stepping=lambda what, total: watch, needed=lambda _: needed
    )


def tried_details(opened: OpenDataset, job: Job, folder: Path) -> dict[str, Any]:
    """The details of the fit of a trial."""
    protocol = job.fitted
    assert isinstance(protocol, Trial)
    fit = trial_fit(cell(opened, job, folder), job, protocol.protocol)
    assert not fit.values
    return dict(fit.details)


def best_fit(opened: OpenDataset, job: Job, folder: Path, tried: Sequence[dict[str, Any]], **watch: Stepping) -> Fit:
    probe = job.fitted
    assert isinstance(probe, FineTuned)
    return final_fit(cell(opened, job, folder, tried, **watch), job, probe.grid)


def pictures(opened: OpenDataset, splits: Sequence[str]) -> Tensor:
    """(n, 3, side, side) normalised, by hand; pictures are as large as they are wanted, so nothing is resized."""
    source: Any = opened.source
    chosen = [number for number, split in enumerate(opened.manifest.splits) if split in splits]
    pixels = source.pixels[chosen].astype(np.float64) / 255
    return torch.from_numpy((pixels - SHAPE.mean) / SHAPE.std).permute(0, 3, 1, 2).float()


def plain_loop(opened: OpenDataset, splits: Sequence[str], y: Tensor, *, several: bool) -> nn.Module:
    """All images in every step, so that their order makes no difference."""
    torch.manual_seed(5)
    head = nn.Linear(8, 3)
    model = nn.Sequential(deepcopy(backbone().module), head).train()
    X = pictures(opened, splits)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.01, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=STEPS)
    for _ in range(STEPS):
        loss = binary_cross_entropy_with_logits(model(X), y.float()) if several else cross_entropy(model(X), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return model.eval()


def numbers(opened: OpenDataset, splits: Sequence[str]) -> Tensor:
    chosen = [
        e.label for e, split in zip(opened.manifest.entries, opened.manifest.splits, strict=True) if split in splits
    ]
    return torch.tensor(["abc".index(label) for label in chosen])


def test_a_trial_is_a_plain_loop(tmp_path: Path) -> None:
    opened = data(SINGLE)
    found = tried_details(opened, trial("top1"), tmp_path)
    model = plain_loop(opened, ["train"], numbers(opened, ["train"]), several=False)
    y = numbers(opened, ["val"])
    with torch.no_grad():
        scores = model(pictures(opened, ["val"]))
    assert found["validation"] == pytest.approx((scores.argmax(dim=1) == y).double().mean().item())
    assert 0.4 < found["validation"] < 1  # neither chance nor certain, so that the temperature means something
    best = minimize_scalar(
        lambda log_t: float(cross_entropy(scores.double() / np.exp(log_t), y)), bounds=(-7, 7), method="bounded",
        options={"xatol": 1e-8},
    )  # fmt: skip
    assert found["temperature"] == pytest.approx(np.exp(best.x), rel=1e-3)
    assert len(found["losses"]) == STEPS


def test_a_task_is_a_plain_loop_with_the_best_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = data(SINGLE)
    settings = (setting(0.2, 60), setting(0.05, 60), setting(0.05, 60))
    monkeypatch.setattr(FinetuneGrid, "settings", property(lambda _: settings))
    job = task("top1", finetune_grid(trials=3, steps=STEPS))
    known = {"validation": 0.6, "unbounded_temperature": False}
    tried: list[dict[str, Any]] = [{"validation": None}, known | {"temperature": 2.0}, known | {"temperature": 9.0}]
    fit = best_fit(opened, job, tmp_path, tried)
    found, values = fit.details, dict(fit.values)
    model = plain_loop(opened, ["train", "val"], numbers(opened, ["train", "val"]), several=False)
    y = numbers(opened, ["test"])
    with torch.no_grad():
        scores = model(pictures(opened, ["test"])).double()
    assert found["chosen"] == 1
    assert found["temperatures"] == [2.0]
    assert found["trial_seconds"] == 6.0
    assert values["top1"] == pytest.approx((scores.argmax(dim=1) == y).double().mean().item())
    for name, temperature in (("ece", 1.0), ("scaled-ece", 2.0)):
        sure, predicted = (scores / temperature).softmax(dim=1).max(dim=1)
        place, right = torch.ceil(sure * 15), (predicted == y).double()
        errors = [abs(float((right - sure)[place == number].sum())) / len(y) for number in place.unique()]
        assert values[name] == pytest.approx(sum(errors), abs=1e-4)
    bins = found["reliability"]["before"]
    assert sum(bins["counts"]) == 20
    assert all((sure is None) == (count == 0) for sure, count in zip(bins["confidence"], bins["counts"], strict=True))


def test_where_the_best_diverges_with_more_images_the_next_best_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = data(SINGLE)
    wild, calm = setting(1e30, 60), setting(0.05, 60)
    monkeypatch.setattr(FinetuneGrid, "settings", property(lambda _: (calm, wild, wild, calm)))
    job = task("top1")
    tried = [
        {"validation": value, "temperature": value, "unbounded_temperature": False} for value in (0.6, 0.7, 0.9, 0.5)
    ]
    whole = best_fit(opened, job, tmp_path / "whole", tried)
    found = whole.details
    assert (found["passed_over"], found["chosen"], found["temperatures"]) == ([2, 1], 0, [0.6])
    model = plain_loop(opened, ["train", "val"], numbers(opened, ["train", "val"]), several=False)
    with torch.no_grad():
        right = model(pictures(opened, ["test"])).argmax(dim=1) == numbers(opened, ["test"])
    assert dict(whole.values)["top1"] == pytest.approx(right.double().mean().item())
    load_task_images(opened, SHAPE, tmp_path / "killed" / "pixels" / opened.name, device=CPU)  # decoded before
    steps: list[int] = []

    def stop(step: int, detail: str = "") -> None:  # in the middle of the third, the first that does not diverge
        steps.append(step)
        if step == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        best_fit(opened, job, tmp_path / "killed", tried, watch=stop)
    before = len(steps)
    again = best_fit(opened, job, tmp_path / "killed", tried, watch=lambda step, detail="": steps.append(step))
    assert again == whole
    assert steps[-5:] == [8, 9, 10, 11, 12]
    assert len(steps) - before < before  # from the checkpoint on
    monkeypatch.setattr(FinetuneGrid, "settings", property(lambda _: (wild,) * 4))
    with pytest.raises(UserError, match="every setting diverged when it was trained with validation images too"):
        best_fit(opened, job, tmp_path / "wild", tried)


def test_several_classes_are_binary_classifiers(tmp_path: Path) -> None:
    opened = data(SEVERAL, "map-11-point")
    found = tried_details(opened, trial("map-11-point"), tmp_path)
    assert "temperature" not in found

    def shown(splits: Sequence[str], mark: str) -> Tensor:
        rows = zip(opened.manifest.entries, opened.manifest.splits, strict=True)
        return torch.tensor(
            [[name + mark in e.label.split("+") for name in "abc"] for e, part in rows if part in splits]
        )

    # What is unsure counts as not shown in training, and not at all in scoring.
    model = plain_loop(opened, ["train"], shown(["train"], ""), several=True)
    with torch.no_grad():
        scores = model(pictures(opened, ["val"]))
    expected = average_precision_11_point(scores, shown(["val"], ""), shown(["val"], "?")).mean
    assert found["validation"] == pytest.approx(expected, abs=1e-6)


def test_a_training_that_diverges_has_no_score(tmp_path: Path) -> None:
    found = tried_details(data(SINGLE), trial("top1", rate=1e30), tmp_path)
    assert found["validation"] is None
    assert found["losses"] == []


def task(metric: Metric, grid: FinetuneGrid | None = None, spec: Spec = SPEC, seed: int = 5, **changes: Any) -> Job:
    dataset = replace(DATASET, metric=metric)
    inputs = ImageInputs(replace(backbone(), spec=spec), dataset, "hash", {"train": 40}, "float32")
    [job] = FineTuned(grid or finetune_grid(trials=4, steps=STEPS)).jobs(inputs, [seed])
    return replace(job, **changes)


def test_everything_in_a_job_is_in_its_key_and_trials_do_not_depend_on_how_many_there_are() -> None:
    job = task("top1")
    others = [
        task("top1", finetune_grid(trials=5, steps=STEPS)),
        task("top1", spec=replace(SPEC, pool="avg")),
        task("mean-per-class"),
        *(task("top1", **{name: "other"}) for name in ("backbone", "dataset", "arithmetic", "probe")),
        *(task("top1", **change) for change in ({"seed": 7}, {"revision": 99})),
        task("top1", reads={**job.reads, "images": "other"}),
    ]
    assert len({each.key for each in (job, *others)}) == len(others) + 1
    more = task("top1", finetune_grid(trials=9, steps=STEPS))
    assert [each.key for each in job.needs] == [each.key for each in more.needs][:4]
    assert [each.fitted for each in job.needs] == [*map(Trial, finetune_grid(trials=4, steps=STEPS).settings)]
    reseeded = task("top1", seed=6)
    assert not {each.key for each in job.needs} & {each.key for each in reseeded.needs}


def test_scores_are_those_of_the_papers_tasks() -> None:
    measured = [("mean-per-class", 0.5), ("ece", 0.1), ("scaled-ece", 0.05)]
    job = task("mean-per-class", seed=3, backbone="b", dataset="pets")
    result = Result(job.key, job.described, fits_kept([Fit("fine-tuned", None, 3, measured)]), 2.0, {})
    run = RunData("t", (), [Domain("pets", "Pets", axis="tasks")], [], "b")
    scores = [*result_scores(result, run)]
    assert [(s.study, s.probe, s.domain, s.metric, s.value, s.seed) for s in scores] == [
        ("tasks", "fine-tuned", "pets", "mean-per-class", 0.5, 3),
        ("tasks", "fine-tuned", "pets", "ece", 0.1, 3),
        ("tasks", "fine-tuned", "pets", "scaled-ece", 0.05, 3),
    ]
    assert {s.protocol for s in scores} == {"ericsson-2021-short"}
    assert [task_setting(s) for s in scores] == [FINETUNED, FINETUNED_ECE, FINETUNED_SCALED_ECE]
    wrong = fits_kept([Fit("fine-tuned", None, 3, [("ece", 1.5)])])
    with pytest.raises(UserError, match="no valid ece"):
        [*result_scores(replace(result, values=wrong), run)]


def test_every_epoch_has_each_image_once_in_an_order_of_its_own() -> None:
    whole = epoch_order(10, 0, 45, seed=1)
    for epoch in range(4):
        assert sorted(whole[10 * epoch : 10 * epoch + 10]) == [*range(10)]
    assert len({tuple(whole[start : start + 10]) for start in (0, 10, 20, 30)}) == 4
    np.testing.assert_array_equal(epoch_order(10, 17, 45, seed=1), whole[17:])
    assert not np.array_equal(epoch_order(10, 0, 45, seed=2), whole)
    assert len(epoch_order(10, 45, 45, seed=1)) == 0


def test_random_parts_come_from_larger_squares(tmp_path: Path) -> None:
    images = loaded(data(SINGLE), tmp_path)
    assert images.tested.rows(np.array([0])).shape[1] == SIDE
    assert images.whole.rows(np.array([0])).shape[1] == round(SIDE * 320 / 224)
    protocol = replace(setting(), augment="crop+flip")
    first, labels = next(images.training(["train", "val"], 0, protocol, 0))
    assert first.shape == (40, 3, SIDE, SIDE)
    assert set(labels.tolist()) == {0, 1, 2}
    later = [step for step, _ in images.training(["train"], 3, protocol, 0)]
    unbroken = [step for step, _ in images.training(["train"], 0, protocol, 0)]
    torch.testing.assert_close(later, unbroken[3:], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("labels", "splits", "message"),
    [
        (["a"] * 80, SPLITS * 10, r"all images are of one class \(a\)"),
        (SINGLE, ["train", "test"] * 40, "no validation images"),
        (SINGLE, ["train", "val"] * 40, "no test images"),
        (["a", "b"] * 39 + ["c", "b"], SPLITS * 10, "no training image of c; every class needs one"),
    ],
)
def test_data_that_cannot_be_learned_from(labels: list[str], splits: list[str], message: str) -> None:
    opened = data(labels)
    with pytest.raises(UserError, match=message):
        task_labels(replace(opened, manifest=Manifest(opened.source.entries, splits)))
